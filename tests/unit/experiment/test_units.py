"""Units: which data gets them, what they are, and that a policy with them acts in the units of its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from rate.config import EnvConfig, RunConfig
from rate.data.config import DataConfig
from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import split_episodes
from rate.experiment import train_run
from rate.experiment.units import fit_units
from rate.models import MODELS
from rate.nn.encoders import EncoderConfig, units
from rate.objectives import OBJECTIVES
from rate.training.config import TrainConfig
from rate.types import Array, Spaces, Trajectory

LENGTH, EPISODES = 6, 10


def made(path: Path, seen: Array, done: Array, observation: gym.Space[Any], action: gym.Space[Any]) -> TrajectoryStore:
    """Episodes of six steps whose rows are given one after the other."""
    given: dict[str, Any] = {"spaces": Spaces(observation=observation, action=action), "environment": "", "options": {}}
    with StoreWriter(path, **given, generator="test", sync=False) as writer:
        for index in range(EPISODES):
            writer.add(
                Trajectory(
                    observations=seen[index * (LENGTH + 1) : (index + 1) * (LENGTH + 1)],
                    actions=done[index * LENGTH : (index + 1) * LENGTH],
                    rewards=np.ones(LENGTH, np.float32),
                    terminations=np.arange(LENGTH) == LENGTH - 1,
                    truncations=np.zeros(LENGTH, bool),
                )
            )
    return TrajectoryStore.open(path)


def control(path: Path, scales: tuple[float, ...], reach: float) -> TrajectoryStore:
    rng = np.random.default_rng(0)
    seen = (np.array(scales) * rng.uniform(-1, 1, (EPISODES * (LENGTH + 1), len(scales)))).astype(np.float32)
    done = rng.uniform(-reach, reach, (EPISODES * LENGTH, 2)).astype(np.float32)
    everywhere = gs.Box(-np.inf, np.inf, (len(scales),))
    return made(path, seen, done, everywhere, gs.Box(-1000, 1000, (2,)))


def fitted(store: TrajectoryStore, normalise: Any = "auto", model: str = "bc-lstm", **fields: Any) -> Any:
    torch.manual_seed(0)
    policy = MODELS.get(model)(LENGTH, encoder=EncoderConfig(normalise=normalise), **fields).build(store.spaces)
    fit_units(policy, store, np.arange(len(store)), always=normalise in ("on", "pixels"))
    return policy.eval()


@pytest.mark.parametrize(
    ("scales", "reach", "observations", "actions"),
    [
        ((1.0, 1.0, 0.5), 1.0, False, False),
        ((1.0, 0.05, 3.0), 1.0, True, False),
        ((50.0, 50.0, 60.0), 100.0, True, True),
        ((0.01, 0.02, 0.0), 0.5, True, False),
        ((1.0, 0.0, 0.0), 0.01, False, True),
    ],
)
def test_sizes_decide(tmp_path: Path, scales: Any, reach: float, observations: bool, actions: bool) -> None:
    policy = fitted(control(tmp_path / "set", scales, reach), previous_action=True)
    found = [unit for _, unit in units(policy.tokens.observation)]
    assert [bool((unit.std != 1).any()) for unit in found] == [observations]
    for unit in (policy.action_unit, policy.tokens.actions[0].unit):
        assert bool((unit.std != 1).any()) is actions


def test_a_rare_clue_has_a_good_size(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    seen = rng.uniform(-1, 1, (EPISODES * (LENGTH + 1), 2)).astype(np.float32)
    seen[:, 1] = 0
    seen[3, 1] = 1  # a spread of 0.12, and it would be 0.01 in longer episodes
    done = np.zeros(EPISODES * LENGTH, np.int64)
    policy = fitted(made(tmp_path / "set", seen, done, gs.Box(-1, 1, (2,)), gs.Discrete(2)))
    assert all((unit.std == 1).all() for _, unit in units(policy.tokens.observation))


def test_observations_are_given_in_units_and_outliers_are_cut(tmp_path: Path) -> None:
    store = control(tmp_path / "set", (1e3, 1e-3, 0.0), 1.0)
    policy = fitted(store)
    ((path, unit),) = units(policy.tokens.observation)
    rows = torch.as_tensor(np.concatenate([one.observations for one in store]))
    assert path == ()
    torch.testing.assert_close(unit(rows).std(0, correction=0), torch.tensor([1.0, 1.0, 0.0]))
    torch.testing.assert_close(unit(rows).mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    assert unit(torch.tensor([1e9, -1e9, 0.0])).tolist() == [10, -10, 0]


def test_grids_of_small_codes_are_fitted_and_pictures_are_not(tmp_path: Path) -> None:
    rng, done = np.random.default_rng(0), np.zeros(EPISODES * LENGTH, np.int64)
    space, shape = gs.Box(0, 255, (7, 7, 3), np.uint8), (EPISODES * (LENGTH + 1), 7, 7, 3)
    for name, most, expected in (("codes", 10, True), ("picture", 256, False)):
        seen = rng.integers(0, most, shape).astype(np.uint8)
        policy = fitted(made(tmp_path / name, seen, done, space, gs.Discrete(2)))
        ((_, unit),) = units(policy.tokens.observation)
        assert bool((unit.std != 255).any()) is expected
        size = policy.tokens.observation(torch.as_tensor(seen)).square().mean().sqrt()
        assert 0.2 < size < 1.5


def test_every_pixel_can_have_its_own_unit(tmp_path: Path) -> None:
    """A ball of one pixel, beside a wall that is always there and bricks of which half are gone."""
    rng, done = np.random.default_rng(0), np.zeros(EPISODES * LENGTH, np.int64)
    seen = np.zeros((EPISODES * (LENGTH + 1), 4, 84, 84), np.uint8)
    seen[:, :, :10] = 200
    seen[:, :, 10:20] = 100 * rng.integers(0, 2, (len(seen), 4, 10, 84))
    for row in range(len(seen)):
        seen[row, :, 50, row % 4] = 50
    space = gs.Box(0, 255, seen.shape[1:], np.uint8)
    policy = fitted(made(tmp_path / "set", seen, done, space, gs.Discrete(2)), "pixels")
    ((_, unit),) = units(policy.tokens.observation)
    told = unit(torch.as_tensor(seen))
    assert not told[:, :, :10].any()
    assert (told[0, :, 50, 0] > 1).all() and told[0, :, 10:20].abs().max() < 2
    assert unit(torch.full(seen.shape[1:], 255))[:, 60:].eq(10).all()  # cut where nothing ever was


def test_actions_are_predicted_in_units(tmp_path: Path) -> None:
    store = control(tmp_path / "set", (1.0,), 500.0)
    policy, plain = (fitted(store, normalise) for normalise in ("auto", "off"))
    plain.load_state_dict({name: value for name, value in policy.state_dict().items() if "unit" not in name})
    actions = torch.tensor(store[0].actions)[None]
    mean, std = policy.action_unit.mean, policy.action_unit.std
    prediction = torch.randn(1, LENGTH, 2)
    expected = ((actions - mean) / std - prediction).square().mean(-1)
    torch.testing.assert_close(policy.head.loss(prediction, actions), expected)
    torch.testing.assert_close(policy.head.act(prediction, False), prediction * std + mean)
    far = policy.head.act(torch.full((1, 2), 50.0), False)
    assert far.tolist() == [[1000, 1000]]  # cut to the space, not to the unit
    exact = (actions - mean) / std
    torch.testing.assert_close(policy.head.score(exact, actions), torch.zeros(1, LENGTH), atol=1e-4, rtol=0)
    assert torch.equal(plain.head.act(prediction, False), prediction)


def test_training_carries_the_units_of_its_own_episodes(tmp_path: Path) -> None:
    store = control(tmp_path / "set", (1e3, 1.0), 300.0)
    for name, objective in (("bc-mlp", "behaviour-cloning"), ("cql-mlp", "cql")):
        config = RunConfig(
            recipe="own",
            env=EnvConfig(name=""),
            model=MODELS.get(name)(LENGTH),
            objective=OBJECTIVES.get(objective)(name=objective),
            data=DataConfig(path=str(store.path), validation_fraction=0.5),
            train=TrainConfig(window=LENGTH, steps=2, batch_size=2, checkpoint_every=1, device="cpu"),
        )
        run = train_run(config, tmp_path / name)
        train_ids, _ = split_episodes(EPISODES, 0.5, 0)
        seen = np.concatenate([store[int(index)].observations for index in train_ids]).astype(np.float64)
        ((_, unit),) = units(run.policy.tokens.observation)
        np.testing.assert_allclose(unit.mean, seen.mean(0), rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(unit.std, seen.std(0), rtol=1e-5)
        resumed = train_run(config, tmp_path / name, resume=True)
        assert resumed.step == 2


def test_choices_are_told_without_what_is_always_there(tmp_path: Path) -> None:
    """One cell of twenty varies: with `data` two observations differ by as much as two tokens do."""
    rng = np.random.default_rng(0)
    seen = np.zeros((EPISODES * (LENGTH + 1), 20), np.int64)
    seen[:, 3] = rng.integers(0, 2, len(seen))
    done = rng.integers(0, 3, EPISODES * LENGTH)
    store = made(tmp_path / "grid", seen, done, gs.MultiDiscrete([4] * 20), gs.Discrete(3))
    apart = {}
    for scale in ("like", "data"):
        torch.manual_seed(0)
        policy = MODELS.get("bc-lstm")(LENGTH, encoder=EncoderConfig(scale=scale)).build(store.spaces)
        fit_units(policy, store, np.arange(len(store)), always=False)
        with torch.no_grad():
            tokens = policy.tokens.observation(torch.as_tensor(seen))
        apart[scale] = float(tokens.std(0).square().mean().sqrt() / tokens.square().mean().sqrt())
        assert 0.5 < float(tokens.square().mean().sqrt()) < 2, scale
    assert apart["like"] < 0.3 and apart["data"] > 0.95
    shares = policy.tokens.observation.unit.shares.view(20, 4)
    assert np.allclose(shares[3, :2], [1 - seen[:, 3].mean(), seen[:, 3].mean()]) and shares[0, 0] == 1
    assert {"tokens.observation.unit.shares", "tokens.observation.unit.scale"} <= set(policy.state_dict())
