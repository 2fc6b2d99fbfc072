"""Random episodes of any space, tiny stores of them, and exact comparison."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rate.data.columns import pack, space_form, tree_form, unpack
from rate.data.store import StoreWriter, TrajectoryStore
from rate.envs.spec import CollectRequest, EnvSpec, EvalCase
from rate.errors import DataError
from rate.types import Spaces, Trajectory

OBSERVATIONS: dict[str, gym.Space[Any]] = {
    "vector": spaces.Box(-np.inf, np.inf, (4,), np.float32),
    "double": spaces.Box(-1, 1, (2, 3), np.float64),
    "image": spaces.Box(0, 255, (33, 32, 3), np.uint8),
    "discrete": spaces.Discrete(5, start=-2),
    "multi": spaces.MultiDiscrete([3, 4], start=[1, -1]),
    "binary": spaces.MultiBinary(3),
    "dict": spaces.Dict(
        OrderedDict(
            zeta=spaces.Box(-1, 1, (2,), np.float32),
            alpha=spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 9, (), np.int16)]),
        )
    ),
    "tuple": spaces.Tuple([spaces.Box(0, 1, (1,), np.float32), spaces.Dict({"a.b c": spaces.Discrete(2)})]),
}
ACTIONS: dict[str, gym.Space[Any]] = {
    "discrete": spaces.Discrete(4),
    "multi": spaces.MultiDiscrete([3, 2]),
    "box": spaces.Box(-1, 1, (2,), np.float32),
}


def _rows(space: gym.Space[Any], count: int) -> Any:
    samples = [space.sample() for _ in range(count)]
    form = space_form(space)
    columns = [pack(sample, form, "x") for sample in samples]
    leaves = {name: np.stack([np.asarray(row[name]) for row in columns]) for name in columns[0]}
    return unpack(form, "x", leaves.__getitem__)


def random_episode(kinds: Spaces, length: int, seed: int = 0, infos: bool = True) -> Trajectory:
    rng = np.random.default_rng(seed)
    kinds.observation.seed(seed)
    kinds.action.seed(seed)
    last = np.arange(length) == length - 1
    extra = {
        "cue": rng.integers(0, 9, length + 1),
        "deep": {"position": rng.random((length + 1, 2)), "pair": (np.arange(length + 1), np.ones(length + 1, bool))},
        "label": np.array(["up", "down"])[rng.integers(0, 2, length + 1)],
    }
    return Trajectory(
        observations=_rows(kinds.observation, length + 1),
        actions=_rows(kinds.action, length),
        rewards=rng.normal(size=length).astype(np.float32),
        terminations=last & (seed % 2 == 0),
        truncations=last & (seed % 2 == 1),
        infos=extra if infos else {},
        seed=seed,
    )


def assert_same(one: Trajectory, other: Trajectory) -> None:
    """Equal form, dtype (widths of text apart) and values."""
    assert one.seed == other.seed
    for name in ("observations", "actions", "rewards", "terminations", "truncations", "infos"):
        left, right = getattr(one, name), getattr(other, name)
        form = tree_form(left)
        for key, rows in pack(left, form, name).items():
            found = pack(right, form, name)[key]
            assert found.dtype.kind == rows.dtype.kind, key
            assert rows.dtype.kind == "U" or found.dtype == rows.dtype, key
            np.testing.assert_array_equal(found, rows, err_msg=key)


@pytest.fixture
def same() -> Callable[[Trajectory, Trajectory], None]:
    return assert_same


@pytest.fixture
def episode() -> Callable[..., Trajectory]:
    return random_episode


@pytest.fixture
def kinds() -> Callable[..., Spaces]:
    """kinds("vector", "discrete") -> Spaces."""
    return lambda observation="vector", action="discrete": Spaces(
        observation=OBSERVATIONS[observation], action=ACTIONS[action]
    )


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., TrajectoryStore]:
    """write(episodes, spaces) -> the opened store, at tmp_path / "set" unless told otherwise."""

    def make(episodes: Sequence[Trajectory], kinds: Spaces, name: str = "set", **more: Any) -> TrajectoryStore:
        head = {"environment": "toy", "options": {"length": 3}, "generator": "random"}
        with StoreWriter(tmp_path / name, spaces=kinds, **{**head, **more}) as writer:
            for item in episodes:
                writer.add(item)
        return TrajectoryStore.open(tmp_path / name)

    return make


@pytest.fixture
def toy_spec() -> EnvSpec:
    """An environment whose expert follows its options; spaces depend on `width`."""

    class Toy(gym.Env[Any, Any]):
        def __init__(self, width: int = 4) -> None:
            self.observation_space = spaces.Box(-np.inf, np.inf, (width,), np.float32)
            self.action_space = spaces.Discrete(4)

    def expert(request: CollectRequest) -> Iterator[Trajectory]:
        env = Toy(request.kwargs["width"])
        own = Spaces(observation=env.observation_space, action=env.action_space)
        given = request.indices[: len(request.indices) - request.kwargs["missing"]]
        return (random_episode(own, request.kwargs["length"], request.seed + i) for i in given)

    return EnvSpec(
        name="Toy/Maze",
        summary="a toy",
        make=Toy,
        make_batch=Toy,
        expert=expert,
        expert_defaults={"length": 3, "width": 4, "missing": 0},
        case=lambda: EvalCase(name="toy", target_return=1.0, max_steps=3),
    )


@pytest.fixture
def vector_store(write: Callable[..., TrajectoryStore]) -> TrajectoryStore:
    """Five episodes of 3 to 7 steps in three shards."""
    own = Spaces(observation=OBSERVATIONS["vector"], action=ACTIONS["discrete"])
    return write([random_episode(own, 3 + i, i) for i in range(5)], own, shard_steps=7)


@pytest.fixture
def one_line() -> Callable[..., str]:
    """one_line(call, *words): the call raises a DataError of one line that holds the words."""

    def check(call: Callable[[], Any], *words: str) -> str:
        with pytest.raises(DataError) as caught:
            call()
        text = str(caught.value)
        assert "\n" not in text
        for word in words:
            assert word in text, text
        return text

    return check


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk is most of the time of the tests that write many stores; the others do wait."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
