"""Returns-to-go: what an episode still earns from each step on, undiscounted.

They are never stored: scale and window are choices of training, not facts of the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rate.types import Array


def suffix_sums(rewards: Array) -> NDArray[np.float64]:
    """Sums of rewards[t:] in double precision; the first is the return of the episode."""
    return np.cumsum(rewards[::-1], dtype=np.float64)[::-1]


def returns_to_go(rewards: Array) -> NDArray[np.float32]:
    """Return-to-go of every step of a full episode."""
    return suffix_sums(rewards).astype(np.float32)
