"""Episodes that differ: seeds that are apart need not give contents that are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from rate.data.store import TrajectoryStore

MOST_BYTES = 1 << 30
"""Larger data is not read for this."""


def distinct(store: TrajectoryStore) -> dict[str, int] | None:
    """How many of the episodes differ in what is seen or done, and in what is seen first; None for large data."""
    read = [name for name in store.shards[0].columns if name.startswith(("observations", "actions"))]
    if sum(shard.columns[name].nbytes for shard in store.shards for name in read) > MOST_BYTES:
        return None
    whole, first = (set(found) for found in zip(*_digests(store, read), strict=True))
    return {"episodes": len(whole), "first_observations": len(first)}


def _digests(store: TrajectoryStore, names: list[str]) -> Iterator[tuple[bytes, bytes]]:
    """Of each episode: of all of it, and of what is seen first."""
    for shard in store.shards:
        for episode in range(len(shard.seeds)):
            whole, first = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
            for name in names:
                rows = shard.rows(name, episode)
                whole.update(rows.tobytes())
                if name.startswith("observations"):
                    first.update(rows[:1].tobytes())
            yield whole.digest(), first.digest()
