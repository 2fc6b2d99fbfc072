"""What the rows of a column are like, in one pass over some episodes: mean, spread and size of each component."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.data.checks import leaf_spaces
from rate.data.store import TrajectoryStore
from rate.types import Array

CHUNK_BYTES = 1 << 22
MOST_BYTES = 1 << 26
"""Of a column that is larger, as images are, evenly spread episodes are looked at."""


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Of each component of a row, in float64."""

    mean: Array
    std: Array
    low: Array
    high: Array

    @property
    def peak(self) -> Array:
        """The largest size of a component; 0 where it never changes."""
        peak: Array = np.where(self.low < self.high, np.maximum(abs(self.low), abs(self.high)), 0.0)
        return peak


def moments(store: TrajectoryStore, ids: NDArray[np.int64], name: str) -> Moments:
    """Of a column over some episodes."""
    count, shift = 0, None
    for rows in _chunks(store, ids, name):
        if shift is None:  # sums of squares about a far mean would cancel
            shift = rows.mean(0)
            total, squares, low, high = (np.zeros_like(shift) for _ in range(4))
            low, high = rows[0].copy(), rows[0].copy()
        moved = rows - shift
        count, total, squares = count + len(rows), total + moved.sum(0), squares + np.square(moved).sum(0)
        low, high = np.minimum(low, rows.min(0)), np.maximum(high, rows.max(0))
    assert shift is not None, "there is at least one episode"
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - np.square(mean), 0.0))
    return Moments(mean=shift + mean, std=std, low=low, high=high)


def class_shares(store: TrajectoryStore, ids: NDArray[np.int64], name: str) -> NDArray[np.float64]:
    """How often each class of each component of a column of choices is drawn, one component behind the other."""
    space: Any = leaf_spaces(store.spaces)[name]
    sizes = np.ravel(space.n if isinstance(space, gym.spaces.Discrete) else space.nvec).astype(np.int64)
    first = np.cumsum(sizes) - sizes
    counts = np.zeros(int(sizes.sum()))
    for rows in _chunks(store, ids, name):
        classes = rows.reshape(len(rows), -1) - np.ravel(space.start) + first
        counts += np.bincount(classes.astype(np.int64).ravel(), minlength=len(counts))
    shares: NDArray[np.float64] = counts / counts[: sizes[0]].sum()
    return shares


def _chunks(store: TrajectoryStore, ids: NDArray[np.int64], name: str) -> Iterator[Array]:
    """Rows of the episodes as float64, many at a time."""
    column = store.shards[0].columns[name]
    size = int((store.lengths[ids] + 1).sum()) * max(1, column[:1].nbytes)
    pending, waiting = list[Array](), 0
    for index in ids[:: -(-size // MOST_BYTES)].tolist():
        rows = store.shards[int(store.shard_of[index])].rows(name, int(store.episode_in_shard[index]))
        pending.append(rows)
        waiting += rows.nbytes
        store.count_read(rows.nbytes)
        if waiting >= CHUNK_BYTES:
            yield np.concatenate(pending).astype(np.float64)
            pending, waiting = [], 0
    if pending:
        yield np.concatenate(pending).astype(np.float64)
