"""Every registered model learns from stored episodes of any space, also where they are shorter than the window."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from rate.data.columns import pack, space_form, unpack
from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import Windows
from rate.models import MODELS, ModelConfig
from rate.objectives import BehaviourCloning
from rate.types import Spaces, Trajectory, Tree

WINDOW = 9
LENGTHS = (2, 8, 5, 1)
SMALL = {"layers": 1, "width": 16, "heads": 2, "head_width": 8, "conv_width": 8}
ORACLE = gs.Box(0, np.inf, ())
"""A fact that models are told, or leave alone: how long the episode is."""

SPACES: dict[str, Spaces] = {
    "shifted action": Spaces(observation=gs.Box(-1, 1, (4,)), action=gs.Discrete(3, start=1)),
    "shifted discrete": Spaces(observation=gs.Discrete(4, start=2), action=gs.Discrete(3, start=-5)),
    "shifted multi": Spaces(
        observation=gs.MultiDiscrete([3, 4], start=[1, -1]), action=gs.MultiDiscrete([3, 2], start=[1, 2])
    ),
    "box without zero": Spaces(observation=gs.Box(2, 3, (2,)), action=gs.Box(1, 2, (2,))),
    "dict": Spaces(
        observation=gs.Dict(place=gs.Box(-1, 1, (2,)), card=gs.Discrete(3, start=1)), action=gs.Discrete(2, start=1)
    ),
    "tuple": Spaces(
        observation=gs.Tuple([gs.MultiBinary(2), gs.MultiDiscrete([2, 3], start=[4, 1])]), action=gs.Discrete(3)
    ),
    "image": Spaces(observation=gs.Box(0, 255, (3, 36, 36), np.uint8), action=gs.Discrete(3, start=1)),
}


def rows(space: gym.Space[Any], count: int) -> Tree:
    form = space_form(space)
    samples = [pack(space.sample(), form, "x") for _ in range(count)]
    return unpack(form, "x", lambda name: np.stack([np.asarray(sample[name]) for sample in samples]))


def episodes(spaces: Spaces) -> Iterator[Trajectory]:
    spaces.observation.seed(0)
    spaces.action.seed(0)
    for length in LENGTHS:
        yield Trajectory(
            observations=rows(spaces.observation, length + 1),
            actions=rows(spaces.action, length),
            rewards=np.ones(length, np.float32),
            terminations=np.arange(length) == length - 1,
            truncations=np.zeros(length, bool),
            infos={"length": np.full(length + 1, float(length))},
        )


@pytest.fixture(scope="module", params=list(SPACES))
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrajectoryStore]:
    """In two shards."""
    path: Path = tmp_path_factory.mktemp("data") / "set"
    spaces = SPACES[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        with StoreWriter(
            path, spaces=spaces, environment="toy", options={}, generator="random", shard_steps=10
        ) as writer:
            for episode in episodes(spaces):
                writer.add(episode)
    yield TrajectoryStore.open(path)


def small(name: str) -> ModelConfig:
    preset = MODELS.get(name)(WINDOW)
    known = {item.name for item in fields(preset)}
    return replace(preset, **{key: size for key, size in SMALL.items() if key in known})


@pytest.mark.parametrize("name", MODELS.names())
def test_short_episodes_train(name: str, store: TrajectoryStore) -> None:
    torch.manual_seed(0)
    policy = small(name).build(replace(store.spaces, oracle=ORACLE)).train()
    window = Windows(store, range(len(store)), length=WINDOW, oracle="length").batch(0, 2 * len(store))
    assert not window.mask.all(1).any()
    loss = BehaviourCloning()(policy, window)
    loss.total.backward()
    assert loss.weight == 2 * sum(LENGTHS) and loss.total.isfinite()
    gradients = [parameter.grad for parameter in policy.parameters() if parameter.grad is not None]
    assert gradients and all(gradient.isfinite().all() for gradient in gradients)


def test_padding_lies_in_the_space(store: TrajectoryStore) -> None:
    window = next(Windows(store, range(len(store)), length=WINDOW).fixed(len(store)))
    form = space_form(store.spaces.observation)
    leaves = {name: leaf.numpy() for name, leaf in pack(window.observation, form, "x").items()}
    for row, step in np.ndindex(*window.mask.shape):
        observation = unpack(form, "x", lambda name, at=(row, step): leaves[name][at])
        assert store.spaces.observation.contains(observation)
        assert store.spaces.action.contains(window.action[row, step].numpy())
