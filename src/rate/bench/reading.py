"""What reading a batch of windows from a data set costs, against the training step that it feeds.

Part of `rate bench`. Both are measured in turn within one run, so that load hits both alike.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from rate.bench.measuring import Figures, clock, cloning_step
from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import Windows
from rate.models import MODELS
from rate.types import Segment, Spaces, Trajectory

BATCH, EPISODES = 64, 1000
SIZES: dict[str, Any] = {"layers": 2, "width": 64, "heads": 4, "head_width": 16}
"""Small, as its recipes for a laptop: a larger model only makes the share of reading smaller."""

LAYOUTS: dict[str, tuple[gym.Space[Any], int]] = {
    "tmaze": (gym.spaces.Box(-1, 1, (4,), np.float32), 30),
    "cards": (gym.spaces.MultiDiscrete([3] * 52), 105),
    "symbolic_grid": (gym.spaces.Box(0, 10, (3, 3, 3), np.uint8), 90),
}
"""Observation space and steps of an episode."""


def reading(layout: str, repeats: int) -> Figures:
    """Milliseconds of a batch of windows, and its share of a training step of `rate`."""
    space, steps = LAYOUTS[layout]
    spaces = Spaces(observation=space, action=gym.spaces.Discrete(4))
    with tempfile.TemporaryDirectory() as home:
        store = _random_store(Path(home) / "set", spaces, steps)
        windows = Windows(store, np.arange(EPISODES), length=steps)
        train = _training(spaces, steps)
        times = [_both(windows, train, number) for number in range(2 + 2 * repeats)][2:]
        del windows, store  # else Windows could not delete the files
    read, trained = (statistics.median(column) for column in zip(*times, strict=True))
    return {"ms_per_batch": 1e3 * read, "training_step_ms": 1e3 * trained, "over_training_step": read / trained}


def _both(windows: Windows, train: Callable[[Segment], None], number: int) -> tuple[float, float]:
    """Seconds of reading a batch and of training on it; the mean of many reads, since one is short."""
    began = clock()
    for index in range(10):
        window = windows.batch(10 * number + index, BATCH)
    read = clock()
    train(window)
    return (read - began) / 10, clock() - read


def _training(spaces: Spaces, window: int) -> Callable[[Segment], None]:
    torch.manual_seed(0)
    return cloning_step(MODELS.get("rate")(window, memory_tokens=10, valve_heads=2, **SIZES).build(spaces))


def _random_store(path: Path, spaces: Spaces, steps: int) -> TrajectoryStore:
    """Observations are of one value per episode: reading does not look at them."""
    space = spaces.observation
    assert space.shape is not None
    ended = np.arange(steps) == steps - 1
    head: dict[str, Any] = {"environment": "bench", "options": {}, "generator": "bench"}
    with StoreWriter(path, spaces=spaces, **head, sync=False) as writer:
        for seed in range(EPISODES):
            writer.add(
                Trajectory(
                    observations=np.full((steps + 1, *space.shape), seed % 2, dtype=space.dtype),
                    actions=np.full(steps, seed % 4),
                    rewards=ended.astype(np.float32),
                    terminations=ended,
                    truncations=np.zeros(steps, bool),
                    seed=seed,
                )
            )
    return TrajectoryStore.open(path)
