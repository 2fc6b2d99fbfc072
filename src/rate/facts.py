"""Facts: what the data of a task says of it, as far as a model and its training must know.

All of it is read off the data, but that longer episodes than those of the data will be asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.data.checks import leaf_spaces
from rate.data.store import TrajectoryStore
from rate.types import Array

SEGMENTS, LONGEST_SEGMENT = 3, 70
SAMPLE = 2000
"""Observations that are looked at."""
SAME = 1e-3
"""Returns that differ by less than this share are the same."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the data of a task says."""

    steps: int
    """Of the longest episode, or of as much of it as a window takes."""
    open_ended: bool
    """Episodes vary in length, or longer ones will be asked for: memory must keep over any number of updates."""
    returns_vary: bool
    """Else the return-to-go says nothing but the time, and says it wrongly after a mistake."""
    numbers: int
    """Independent directions in which observations differ: a token that is narrower cannot hold them."""

    @property
    def segment(self) -> int:
        """K: a third of the episode or at most 70 steps, an even number, so that half of it is a segment too."""
        if self.steps == 1:
            return 1
        segments = max(SEGMENTS, -(-self.steps // LONGEST_SEGMENT))
        return 2 * -(-self.steps // (2 * segments))

    @property
    def window(self) -> int:
        """The whole episode."""
        return -(-self.steps // self.segment) * self.segment


def facts_of(store: TrajectoryStore, *, longer: bool = False) -> Facts:
    """What the data says; `longer`: longer episodes than it has will be asked for."""
    lengths, returns = store.lengths, store.returns
    return Facts(
        steps=int(lengths.max()),
        open_ended=longer or bool(lengths.min() < lengths.max()),
        returns_vary=bool(np.ptp(returns) > SAME * np.abs(returns).max()),
        numbers=directions(store),
    )


def directions(store: TrajectoryStore) -> int:
    """How many directions hold 99 % of the variance of observations, each class of a choice a number; images: none."""
    spaces = {name: space for name, space in leaf_spaces(store.spaces).items() if name != "actions"}
    shard = store.shards[0]
    rows = np.random.default_rng(0).integers(0, len(shard.columns[next(iter(spaces))]), SAMPLE)
    parts = [_numbers(np.asarray(shard.columns[name][rows]), space) for name, space in spaces.items()]
    table = np.concatenate([part - part.mean(0) for part in parts], 1)
    variance = np.linalg.svd(table, compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(variance), 0.99 * variance.sum())) + 1 if variance.sum() > 0 else 0


def _numbers(rows: Array, space: gym.Space[Any]) -> NDArray[np.float64]:
    """Rows of numbers, in units of their spread; classes as one number each."""
    flat = rows.reshape(len(rows), -1)
    if isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
        return np.concatenate([column[:, None] == np.unique(column) for column in flat.T], 1).astype(np.float64)
    if isinstance(space, gym.spaces.Box) and len(space.shape) >= 3:
        return np.zeros((len(rows), 1))
    spread = flat.astype(np.float64).std(0)
    return flat / np.where(spread > 0, spread, 1)
