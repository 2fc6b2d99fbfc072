"""Several data sets as one: their shards side by side, each episode with the number of the part that it is from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rate.data.space_json import same_space
from rate.data.store import TrajectoryStore
from rate.errors import ConfigError, DataError
from rate.types import Array


def parse_mixture(texts: Sequence[str]) -> list[tuple[str, float]]:
    """["data/medium=0.5", "data/more"] -> [("data/medium", 0.5), ("data/more", 1.0)]."""
    parsed = []
    for text in texts:
        path, equals, weight = text.rpartition("=")
        try:
            found = (path, float(weight)) if equals else (text, 1.0)
        except ValueError:  # the sign belongs to the path
            found = (text, 1.0)
        if not found[0] or not 0 < found[1] < math.inf:
            raise ConfigError(f"data.mixture holds {text!r}; give PATH or PATH=WEIGHT with a positive weight")
        parsed.append(found)
    return parsed


def joined(stores: Sequence[TrajectoryStore]) -> TrajectoryStore:
    """One store of all episodes, those of the first data set first; infos are kept where all have the same."""
    first = stores[0]
    for other in stores[1:]:
        for kind in ("observation", "action"):
            mine, theirs = getattr(first.spaces, kind), getattr(other.spaces, kind)
            if not same_space(mine, theirs):
                raise DataError(f"{first.path} and {other.path} cannot be mixed: {kind}s are {mine} and {theirs}")
    same_infos = all(store.card["infos"] == first.card["infos"] for store in stores)
    card = {
        **first.card,
        "infos": first.card["infos"] if same_infos else {"dict": []},
        "episodes": sum(len(store) for store in stores),
        "steps": int(sum(store.lengths.sum() for store in stores)),
        "returns": _summary(np.concatenate([store.returns for store in stores])),
        "lengths": _summary(np.concatenate([store.lengths for store in stores])),
        "shards": [entry for store in stores for entry in store.card["shards"]],
    }
    store = TrajectoryStore(first.path, card, first.spaces, [shard for store in stores for shard in store.shards])
    store.part_of = np.repeat(np.arange(len(stores)), [len(one) for one in stores])
    return store


def _summary(values: Array) -> dict[str, float]:
    return {name: float(getattr(values, name)()) for name in ("min", "mean", "max", "std")}
