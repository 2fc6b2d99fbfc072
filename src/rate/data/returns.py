"""Returns-to-go: what an episode still earns from each step on, undiscounted.

They are never stored: scale and window are choices of training, not facts of the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rate.types import Array

Ids = NDArray[np.int64]

CELLS = 1 << 20


def _quiet() -> np.errstate:
    """A sum that is not finite is no warning: who asks for returns refuses it."""
    return np.errstate(over="ignore", invalid="ignore")


def suffix_sums(rewards: Array) -> NDArray[np.float64]:
    """Sums of rewards[t:] in double precision; the first is the return of the episode."""
    with _quiet():
        return np.cumsum(rewards[::-1], dtype=np.float64)[::-1]


def returns_to_go(rewards: Array) -> NDArray[np.float32]:
    """Return-to-go of every step of a full episode."""
    return suffix_sums(rewards).astype(np.float32)


def ragged_suffix_sums(rewards: Array, starts: Ids, lengths: Ids, to: Ids, out: Array, scale: float) -> None:
    """As `suffix_sums`, of many episodes in one column: those of episode i, divided by `scale`, go to out[to[i]:].

    Exactly the same numbers: each episode is added up from its end, in a row of a block of episodes of similar length.
    """
    order = np.argsort(lengths, kind="stable")[::-1]
    at = 0
    while at < len(order):
        longest = int(lengths[order[at]])
        block = order[at : at + max(1, CELLS // longest)]
        back = lengths[block][:, None] - 1 - np.arange(longest)  # (episodes, steps), the last step first
        real = back >= 0
        with _quiet():
            sums = np.cumsum(rewards[starts[block][:, None] + np.maximum(back, 0)], axis=1, dtype=np.float64)
        out[(to[block][:, None] + back)[real]] = sums[real] / scale
        at += len(block)
