"""Values that would ruin training: far outside of what the other episodes hold.

A value is judged by its distance from the median of its component. What is usual is the largest distance in an
episode, as the median over episodes tells it; so sparse rewards, rare events and heavy tails are no outliers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rate.data.columns import chunks
from rate.data.store import Shard, TrajectoryStore
from rate.types import Array

FAR = 1000.0
"""Times the usual distance."""
LEAST = 1e-3
"""A usual distance below this counts as this: it may be rounding."""
ABSURD = 1e15
"""Beyond this no sum of squares of float32 is finite for long, whatever the other episodes hold."""
SAMPLE = 100_000
"""Rows from which a median is taken."""
COMPONENTS = 256
"""Larger values (images) are judged by their farthest component only."""


def outliers(store: TrajectoryStore) -> list[str]:
    """One line per column that has any: the farthest value, with its episode and step."""
    names = [name for name in store.shards[0].columns if _is_judged(name, store.shards[0].columns[name])]
    return [line for name in names for line in _line(store, name)]


def _is_judged(name: str, rows: Array) -> bool:
    """Numbers without natural bounds: classes and pixels have them."""
    return name == "rewards" or (name.startswith(("observations", "actions")) and rows.dtype.kind == "f")


def _line(store: TrajectoryStore, name: str) -> list[str]:
    centre = _median([shard.columns[name] for shard in store.shards])
    far = np.concatenate([_farthest(shard, name, centre) for shard in store.shards])
    usual = np.array([max(LEAST, _usual(column)) for column in far.T])
    times = far / usual
    found = (times > FAR) | (far > ABSURD)
    if not found.any():
        return []
    episode, component = np.unravel_index(np.argmax(np.where(found, times, 0)), far.shape)
    step, value = _where(store, name, int(episode), int(component), centre)
    at = f"as {value:g} at step {step} of episode {episode}"
    which = f"{name} of {int(found.any(1).sum())} of {len(store)} episodes are"
    if times[episode, component] > FAR:
        rest = f"usually within {usual[component]:.3g} of the median"
        return [f"{which} far outside of the rest, {at} ({rest}); remove or repair them"]
    return [f"{which} too large to train on, {at}; remove or repair them"]


def _usual(far: NDArray[np.float64]) -> float:
    """The median of the largest distances, of the episodes that have any."""
    return float(np.median(far[far > 0])) if (far > 0).any() else 1.0


def _flat(rows: Array) -> NDArray[np.float64]:
    return np.asarray(rows, np.float64).reshape(len(rows), -1)


def _median(columns: list[Array]) -> NDArray[np.float64]:
    """Of each component, from rows all over the data."""
    step = max(1, math.ceil(sum(map(len, columns)) / SAMPLE))
    parts = [_flat(chunk[::step]) for column in columns for chunk in chunks(column)]
    return np.asarray(np.median(np.concatenate(parts), axis=0))


def _distances(rows: Array, centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """(rows, components), or (rows, 1) where there are many."""
    far = np.abs(_flat(rows) - centre)
    return far if far.shape[1] <= COMPONENTS else far.max(1, keepdims=True)


def _farthest(shard: Shard, name: str, centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """(episodes, components) the largest distance."""
    return np.stack([_distances(shard.rows(name, index), centre).max(0) for index in range(len(shard.seeds))])


def _where(
    store: TrajectoryStore, name: str, episode: int, component: int, centre: NDArray[np.float64]
) -> tuple[int, float]:
    """The step and the value of the farthest."""
    rows = store.shards[int(store.shard_of[episode])].rows(name, int(store.episode_in_shard[episode]))
    step = int(np.argmax(_distances(rows, centre)[:, component]))
    values = _flat(rows)[step]
    return step, float(values[np.argmax(np.abs(values - centre))] if len(values) > COMPONENTS else values[component])
