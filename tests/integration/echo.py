"""An environment and data of a user, neither of which the library knows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rate.data.store import StoreWriter
from rate.types import Spaces, Trajectory

SOURCE = '''
import gymnasium as gym


class Echo(gym.Env):
    """Shows a symbol, is silent for four steps, then asks for the symbol."""

    observation_space, action_space = gym.spaces.Discrete(6), gym.spaces.Discrete(4)

    def __init__(self, silence=4):
        self.silence = silence

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.symbol, self.time = int(self.np_random.integers(4)), 0
        return self.symbol, {}

    def step(self, action):
        self.time += 1
        over = self.time == self.silence + 2
        asked = self.time == self.silence + 1
        return 5 if asked else 4, float(over and action == self.symbol), over, False, {}


def make(**kwargs):
    return Echo(**kwargs)
'''
STEPS = 6
FIRST = 10_000
"""Seed of the first episode."""
SPACES = Spaces(observation=gym.spaces.Discrete(6), action=gym.spaces.Discrete(4))


def episode(seed: int, rng: np.random.Generator) -> dict[str, Any]:
    """What somebody wrote down who acts at random, and answers rightly three times of four."""
    symbol = int(np.random.default_rng(seed).integers(4))
    actions = rng.integers(4, size=STEPS)
    if rng.random() < 0.7:
        actions[-1] = symbol
    last = np.arange(STEPS) == STEPS - 1
    return {
        "observations": np.array([symbol, 4, 4, 4, 4, 5, 4]),
        "actions": actions,
        "rewards": (last & (actions == symbol)).astype(np.float32),
        "terminations": last,
        "truncations": np.zeros(STEPS, bool),
    }


def episodes(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [episode(FIRST + index, rng) for index in range(count)]


def write_minari(name: str, count: int, first: int = FIRST) -> None:
    """With Minari's own functions, under MINARI_DATASETS_PATH."""
    import minari
    from minari.data_collector.episode_buffer import EpisodeBuffer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the author and the like
        minari.create_dataset_from_buffers(
            name,
            [EpisodeBuffer(seed=seed, **columns) for seed, columns in enumerate(episodes(count), first)],
            observation_space=SPACES.observation,
            action_space=SPACES.action,
        )


def write_store(path: Path, columns: list[dict[str, Any]], spaces: Spaces = SPACES, environment: str = "") -> Path:
    with StoreWriter(path, spaces=spaces, environment=environment, options={}, generator="me") as writer:
        for item in columns:
            writer.add(Trajectory(**item))
    return path
