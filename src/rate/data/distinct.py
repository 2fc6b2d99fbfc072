"""Episodes that differ: seeds that are apart need not give contents that are.

What is seen first is known by a digest, so that an episode that is played can be compared with those of the data.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.data.checks import row_layout
from rate.data.columns import pack, space_columns, space_form
from rate.data.store import TrajectoryStore
from rate.types import Tree

MOST_BYTES = 1 << 30
"""Larger data is not read for this."""
SEEN = "observations"


@dataclass(frozen=True, kw_only=True)
class Distinct:
    """What there is among some episodes, whatever their number."""

    of: int
    """Episodes that were looked at."""
    episodes: int
    """Those that differ in what is seen or done."""
    first_observations: frozenset[str]
    """Digests of what is seen first."""

    @property
    def counts(self) -> dict[str, int]:
        return {"of": self.of, "episodes": self.episodes, "first_observations": len(self.first_observations)}


def distinct(store: TrajectoryStore, ids: NDArray[np.int64] | None = None) -> Distinct | None:
    """How the contents of episodes differ, of all or of those that are named; None for large data."""
    read = sorted(name for name in store.shards[0].columns if name.startswith((SEEN, "actions")))
    if sum(_size(shard.columns[name]) for shard in store.shards for name in read) > MOST_BYTES:
        return None
    chosen = range(len(store)) if ids is None else sorted(ids.tolist())
    whole, first = (frozenset(found) for found in zip(*_digests(store, chosen, read), strict=True))
    return Distinct(of=len(chosen), episodes=len(whole), first_observations=first)


def first_digests(observation: Tree, space: gym.Space[Any]) -> list[str]:
    """Of each row of a batch of first observations, the digest that `distinct` has of the same one in data."""
    columns = pack(observation, space_form(space), SEEN)
    dtypes = {name: row_layout(leaf)[0] for name, leaf in space_columns(space, SEEN).items()}
    leaves = [np.asarray(columns[name]).astype(dtypes[name]) for name in sorted(columns)]
    return [_digest(leaf[row].tobytes() for leaf in leaves) for row in range(len(leaves[0]))]


def _digests(store: TrajectoryStore, ids: Iterable[int], names: list[str]) -> Iterator[tuple[str, str]]:
    """Of each episode: of all of it, and of what is seen first."""
    for index in ids:
        shard, episode = store.shards[int(store.shard_of[index])], int(store.episode_in_shard[index])
        rows = {name: shard.rows(name, episode) for name in names}
        first = (column[0].tobytes() for name, column in rows.items() if name.startswith(SEEN))
        yield _digest(column.tobytes() for column in rows.values()), _digest(first)


def _digest(parts: Iterable[bytes]) -> str:
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        found.update(part)
    return found.hexdigest()


def _size(column: Any) -> int:
    """Bytes of a column as it is read, however it is stored."""
    size: int = math.prod(column.shape) * column.dtype.itemsize
    return size
