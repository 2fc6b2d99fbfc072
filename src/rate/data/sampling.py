"""Which episodes a batch is taken from: a pure function of (seed, step), so that training resumes at any step.

Without weights every episode comes once per epoch, in a shuffled order. With weights each row is drawn on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rate.data.store import TrajectoryStore
from rate.errors import ConfigError

Ids = NDArray[np.int64]
SampleBy = Literal["episode", "step"]


class Sampler:
    """Rows of batches as places in a list of episodes."""

    def __init__(self, count: int, seed: int, weights: NDArray[np.float64] | None = None) -> None:
        self.count, self.seed = count, seed
        self._bounds = None if weights is None else np.cumsum(weights / weights.sum())
        # Kept because neighbouring steps share an epoch; the result does not depend on it.
        self._order = lru_cache(maxsize=4)(self._permutation)

    def _permutation(self, epoch: int) -> Ids:
        return np.random.default_rng([self.seed, epoch]).permutation(self.count).astype(np.int64)

    def batch(self, index_step: int, batch_size: int) -> Ids:
        """Places of batch number `index_step`."""
        if self._bounds is not None:
            drawn = np.random.default_rng([self.seed, index_step, 3]).random(batch_size)
            return np.minimum(np.searchsorted(self._bounds, drawn, side="right"), self.count - 1)
        position = index_step * batch_size + np.arange(batch_size)
        epoch, within = np.divmod(position, self.count)
        return np.concatenate([self._order(int(e))[within[epoch == e]] for e in np.unique(epoch)])


def weights_of(
    store: TrajectoryStore, ids: Ids, by: SampleBy, shares: Sequence[float] = ()
) -> NDArray[np.float64] | None:
    """How likely each episode is to be drawn; None: all alike.

    By step, an episode counts as often as it has steps. `shares` are those of the parts of a mixture.
    """
    if by == "episode" and not shares:
        return None
    weights = store.lengths[ids].astype(np.float64) if by == "step" else np.ones(len(ids))
    part = store.part_of[ids]
    for number, share in enumerate(shares):
        here = part == number
        if not here.any():
            raise ConfigError(f"data set {number} of the mixture has no episode to train on; leave it out")
        weights[here] *= share / weights[here].sum()
    return weights


def best_of(store: TrajectoryStore, ids: Ids, share: float) -> Ids:
    """The episodes of the highest returns, at least one; of equal ones the first."""
    if share == 1 or not len(ids):
        return ids
    count = max(1, round(share * len(ids)))
    return np.sort(ids[np.argsort(-store.returns[ids], kind="stable")[:count]])
