"""The actor: one environment, a batch, and rows that are reset at different times all act alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from rate.envs.tmaze_env import TMazeEnv
from rate.errors import ConfigError
from rate.models import MODELS, SequencePolicy
from rate.models.actor import Actor
from rate.types import Inputs, Spaces, to_tensor

Policy = SequencePolicy[Any]
SMALL = {"layers": 1, "width": 16, "heads": 2, "head_width": 8}
VECTOR = Spaces(observation=gs.Box(-1, 1, (4,), np.float32), action=gs.Discrete(4))
TREE = Spaces(
    observation=gs.Dict(place=gs.Box(-1, 1, (2, 2)), cards=gs.Tuple([gs.Discrete(3), gs.MultiDiscrete([2, 3])])),
    action=gs.MultiDiscrete([3, 2]),
)
PAIR = Spaces(observation=gs.Tuple([gs.Box(-1, 1, (3,)), gs.Discrete(4, start=1)]), action=gs.Box(-2, 1, (2,)))


def build(name: str = "rate", spaces: Spaces = VECTOR, **fields: Any) -> Policy:
    """Random weights that are large enough for actions to depend on what was seen."""
    torch.manual_seed(3)
    policy = MODELS.get(name)(9, **{**SMALL, **fields}).build(spaces).eval()
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(2) if parameter.dim() > 1 else parameter.add_(0.3 * torch.randn_like(parameter))
    return policy


@pytest.fixture(params=["rate", "rate-cache", "trxl", "dt"])
def policy(request: pytest.FixtureRequest) -> Policy:
    name, _, cached = request.param.partition("-")
    return build(name, **({"cache_tokens": 10} if cached else {}))


def actor_of(policy: Policy, **more: Any) -> Actor:
    return Actor(policy, **{"target_return": 1.0, **more})


def samples(space: gym.Space[Any], count: int, seed: int = 0) -> list[Any]:
    space.seed(seed)
    return [space.sample() for _ in range(count)]


def stack(trees: list[Any]) -> Any:
    if isinstance(trees[0], dict):
        return {key: stack([tree[key] for tree in trees]) for key in trees[0]}
    if isinstance(trees[0], tuple):
        return tuple(stack(list(parts)) for parts in zip(*trees, strict=True))
    return np.stack([np.asarray(tree) for tree in trees])


def drive(actor: Actor, observations: list[Any], rewards: list[Any]) -> list[Any]:
    actions = []
    for observation, reward in zip(observations, rewards, strict=True):
        actions.append(actor.act(observation))
        actor.observe(reward)
    return actions


# --------------------------------------------------------------------------------- one, batch, row of a batch


@pytest.mark.parametrize("spaces", [VECTOR, TREE, PAIR], ids=["vector", "tree", "pair"])
@pytest.mark.parametrize("name", ["rate", "dt"])
def test_alone_as_a_batch_and_in_a_batch(name: str, spaces: Spaces) -> None:
    policy, steps, rows = build(name, spaces), 14, 3
    seen = [samples(spaces.observation, steps, seed) for seed in range(rows)]
    rewards = np.random.default_rng(0).normal(size=(steps, rows)).astype(np.float32)
    together = drive(actor_of(policy), [stack([seen[r][t] for r in range(rows)]) for t in range(steps)], list(rewards))
    for row in range(rows):
        alone = drive(actor_of(policy), seen[row], [float(reward) for reward in rewards[:, row]])
        single = drive(
            actor_of(policy), [stack([o]) for o in seen[row]], [rewards[t, row : row + 1] for t in range(steps)]
        )
        close = np.testing.assert_array_equal if not isinstance(spaces.action, gs.Box) else np.testing.assert_allclose
        close(np.stack(alone), np.stack(single)[:, 0])
        options = {} if close is np.testing.assert_array_equal else {"rtol": 1e-5, "atol": 1e-6}
        close(np.stack(alone), np.stack(together)[:, row], **options)
        assert all(spaces.action.contains(action) for action in alone)
    assert len({str(action) for action in together}) > 1, "the actions do not depend on anything"


def test_the_actor_is_the_policy_stepped_by_hand(policy: Policy) -> None:
    seen = samples(VECTOR.observation, 12)
    actor, state, previous, to_go = actor_of(policy, target_return=5.0), policy.initial_state(1), None, 5.0
    for t, observation in enumerate(seen):
        action = actor.act(observation)
        x = Inputs(
            observation=to_tensor(observation[None]),
            previous_action=previous,
            return_to_go=torch.tensor([to_go]),
            timestep=t,
        )
        output, state = policy.step(x, state)
        assert action == output.prediction.argmax(-1).item()
        actor.observe(0.25 * t)
        previous, to_go = output.prediction.argmax(-1), to_go - 0.25 * t


# ------------------------------------------------------------------------------------------------ resets of rows


@pytest.mark.parametrize("as_mask", [False, True])
def test_rows_that_are_reset_act_as_fresh_actors(policy: Policy, as_mask: bool) -> None:
    """Four mazes of different lengths, begun again when they end and now and then before; more than three segments."""
    lengths, steps, rng = [4, 7, 12, 30], 45, np.random.default_rng(5)
    envs = [TMazeEnv(length) for length in lengths]
    seeds = iter(range(1000))
    observations = [env.reset(seed=next(seeds))[0] for env in envs]
    batch, alone = actor_of(policy), [actor_of(policy) for _ in envs]
    resets, seen = 0, set()
    for _ in range(steps):
        actions = batch.act(np.stack(observations))
        assert actions.tolist() == [one.act(seen_now) for one, seen_now in zip(alone, observations, strict=True)]
        # What the policy wants ends most episodes soon; walking on is what reaches far segments.
        taken = np.where(rng.random(4) < 0.8, 0, actions)
        answers = [env.step(action) for env, action in zip(envs, taken, strict=True)]
        rewards = np.array([answer[1] for answer in answers]) + rng.normal(size=4)
        batch.observe(rewards, taken)
        for one, reward, action in zip(alone, rewards, taken, strict=True):
            one.observe(reward, action)
        observations = [answer[0] for answer in answers]
        over = np.array([answer[2] or answer[3] for answer in answers]) | (rng.random(4) < 0.03)
        for row in np.flatnonzero(over):
            observations[row] = envs[row].reset(seed=next(seeds))[0]
            alone[row].reset()
        if over.any():
            batch.reset(over if as_mask else np.flatnonzero(over))
        resets += int(over.sum())
        seen |= set(actions.tolist())
    assert resets > 8 and len(seen) > 1


def test_reset_of_all_rows_is_a_full_reset(policy: Policy) -> None:
    seen = [np.stack(samples(VECTOR.observation, 3, seed)) for seed in range(8)]
    actor = actor_of(policy)
    first = drive(actor, seen, [np.ones(3)] * 8)
    actor.reset([0, 1, 2])
    assert np.array_equal(drive(actor, seen, [np.ones(3)] * 8), first)
    actor.reset()
    actor.reset([1])  # all rows are fresh already
    assert np.array_equal(drive(actor, seen, [np.ones(3)] * 8), first)


def test_a_full_reset_takes_another_batch_size(policy: Policy) -> None:
    actor = actor_of(policy)
    actor.act(np.zeros((3, 4), np.float32))
    actor.reset()
    assert actor.act(np.zeros((5, 4), np.float32)).shape == (5,)
    actor.reset()
    assert np.ndim(actor.act(np.zeros(4, np.float32))) == 0


# --------------------------------------------------------------------------------------------------------- keep


def test_keep_goes_on_with_the_rows_that_stay(policy: Policy) -> None:
    steps = [np.stack(samples(VECTOR.observation, 5, seed)) for seed in range(20)]
    rewards = np.random.default_rng(1).normal(size=(20, 5))
    whole = np.stack(drive(actor_of(policy), steps, list(rewards)))
    actor = actor_of(policy)
    for rows, span in (([0, 1, 2, 3, 4], range(5)), ([4, 1, 2], range(5, 13)), ([2, 4], range(13, 20))):
        if span[0] == 5:
            actor.keep(np.array([4, 1, 2]))
        if span[0] == 13:
            actor.keep(np.array([2, 0]))
        found = np.stack(drive(actor, [steps[t][rows] for t in span], [rewards[t][rows] for t in span]))
        assert np.array_equal(found, whole[span.start : span.stop][:, rows])


def test_keep_after_resets(policy: Policy) -> None:
    steps = [np.stack(samples(VECTOR.observation, 4, seed)) for seed in range(16)]
    one, other = actor_of(policy), actor_of(policy)
    for t, seen in enumerate(steps):
        expected = one.act(seen)
        rows = [0, 1, 2, 3] if t <= 6 else [3, 1]
        assert np.array_equal(other.act(seen[rows]), expected[rows])
        one.observe(np.full(4, 0.1))
        other.observe(np.full(len(rows), 0.1))
        if t in (2, 4):
            one.reset([t - 1])
            other.reset([t - 1])
        if t == 6:
            other.keep(np.array([3, 1]))


# ----------------------------------------------------------------------------------------- rewards and actions


def recorded(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> list[Inputs]:
    inputs: list[Inputs] = []
    genuine: Callable[..., Any] = policy.step

    def step(x: Inputs, state: Any) -> Any:
        inputs.append(x)
        return genuine(x, state)

    monkeypatch.setattr(policy, "step", step)
    return inputs


def test_return_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = build()
    inputs = recorded(policy, monkeypatch)
    drive(actor_of(policy, target_return=90.0, return_scale=30.0), [np.zeros(4, np.float32)] * 3, [15.0, -6.0, 0.0])
    assert [x.return_to_go.item() for x in inputs] == pytest.approx([3.0, 2.5, 2.7])


def test_return_scale_after_a_reset_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = build()
    inputs = recorded(policy, monkeypatch)
    actor = actor_of(policy, target_return=8.0, return_scale=2.0)
    actor.act(np.zeros((2, 4), np.float32))
    actor.observe([2.0, 4.0])
    actor.reset([1])
    actor.act(np.zeros((2, 4), np.float32))
    assert [x.return_to_go.tolist() for x in inputs] == [[4.0, 4.0], [3.0], [4.0]]


def test_the_action_that_was_taken_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = build()
    inputs = recorded(policy, monkeypatch)
    actor = actor_of(policy)
    advised = actor.act(np.zeros((3, 4), np.float32))
    taken = (advised + 1) % 4
    actor.observe(np.zeros(3), taken.astype(np.int32))
    actor.act(np.zeros((3, 4), np.float32))
    assert inputs[0].previous_action is None
    assert inputs[1].previous_action is not None and inputs[1].previous_action.tolist() == taken.tolist()


def test_the_action_that_was_taken_may_be_float64() -> None:
    policy = build(spaces=PAIR)
    seen = samples(PAIR.observation, 6)
    one, other = actor_of(policy), actor_of(policy)
    for observation in seen:
        advised = one.act(observation)
        assert np.allclose(other.act(observation), advised, atol=1e-6)
        one.observe(0.0)
        other.observe(0.0, advised.astype(np.float64))


def test_other_actions_lead_to_other_ones(policy: Policy) -> None:
    seen = samples(VECTOR.observation, 30)
    actor, other = actor_of(policy), actor_of(policy)
    found: list[tuple[int, int]] = []
    for observation in seen:
        found.append((int(actor.act(observation)), int(other.act(observation))))
        actor.observe(0.0)
        other.observe(0.0, (found[-1][1] + 1) % 4)
    assert found[0][0] == found[0][1] and any(mine != theirs for mine, theirs in found)


def test_samples_follow_torch() -> None:
    policy = build()
    seen = [np.stack(samples(VECTOR.observation, 4, seed)) for seed in range(10)]

    def sampled(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        return np.stack(drive(actor_of(policy, sample=True), seen, [np.zeros(4)] * 10)).tolist()

    assert sampled(1) == sampled(1)
    assert sampled(1) != sampled(2)


def test_the_policy_acts_without_dropout_and_gradient() -> None:
    policy = build(dropout=0.5).train()
    seen = samples(VECTOR.observation, 10)
    first = drive(actor_of(policy), seen, [0.0] * 10)
    assert not policy.training
    assert first == drive(actor_of(policy), seen, [0.0] * 10)


# ----------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize("shape", [(5,), (3,), (2, 5), (2, 3, 4), (), (4, 2)])
def test_an_observation_of_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="does not fit the space"):
        actor_of(build()).act(np.zeros(shape, np.float32))


@pytest.mark.parametrize(
    "observation",
    [
        {"place": np.zeros((2, 2))},
        {"place": np.zeros((2, 2)), "cards": (1,)},
        {"place": np.zeros((3, 2, 2)), "cards": (np.zeros(2, int), np.zeros((3, 2), int))},
        {"place": np.zeros((3, 2, 2)), "cards": (1, np.zeros(2, int))},
        (np.zeros((2, 2)), (1, np.zeros(2, int))),
        np.zeros(4),
        None,
        "north",
    ],
)
def test_an_observation_of_another_form(observation: Any) -> None:
    with pytest.raises(ConfigError, match="the space"):
        actor_of(build(spaces=TREE)).act(observation)


def test_a_batch_of_another_size() -> None:
    actor = actor_of(build())
    actor.act(np.zeros((3, 4), np.float32))
    with pytest.raises(ConfigError, match="a batch of 2 observations was given to an actor of 3"):
        actor.act(np.zeros((2, 4), np.float32))
    with pytest.raises(ConfigError, match="a batch of 1"):
        actor.act(np.zeros(4, np.float32))


def test_a_refused_observation_changes_nothing() -> None:
    policy = build()
    seen = samples(VECTOR.observation, 6)
    actor = actor_of(policy)
    found = []
    for observation in seen:
        with pytest.raises(ConfigError):
            actor.act(observation[:3])
        found.append(actor.act(observation))
        actor.observe(0.0)
    assert found == drive(actor_of(policy), seen, [0.0] * 6)


@pytest.mark.parametrize("rewards", [0.5, [0.5], [0.5] * 2, [0.5] * 4, [[0.5], [0.5], [0.5]], []])
def test_rewards_that_are_not_one_for_each_row(rewards: Any) -> None:
    actor = actor_of(build())
    actor.act(np.zeros((3, 4), np.float32))
    with pytest.raises(ConfigError, match="actor of 3"):
        actor.observe(rewards)
    actor.observe([0.5] * 3)


@pytest.mark.parametrize("shape", [(4,), (1, 4)])
def test_one_reward_for_one_row(shape: tuple[int, ...]) -> None:
    actor = actor_of(build())
    actor.act(np.zeros(shape, np.float32))
    actor.observe(0.5), actor.observe([0.5]), actor.observe(np.float64(0.5))
    with pytest.raises(ConfigError, match="actor of 1"):
        actor.observe([0.5, 0.5])


def test_a_reward_before_the_first_action() -> None:
    with pytest.raises(ConfigError, match="actor of 0"):
        actor_of(build()).observe(1.0)
