"""Episode seeds: one block of integers per purpose, so that no evaluation episode is ever trained on.

Seeds stay below 2**31 because some simulators accept no more.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 29


class Purpose(enum.IntEnum):
    """Who uses the episodes. The blocks of two purposes never overlap."""

    REPORT = 0
    VALIDATION = 1
    COLLECT = 2


def episode_seeds(purpose: Purpose, seed: int, episodes: int, first: int = 0) -> NDArray[np.int64]:
    """Seeds of episodes first .. first + episodes - 1; runs of consecutive integers (modulo the block)."""
    start = (seed * 1_000_003 + first) % BLOCK
    return (start + np.arange(episodes, dtype=np.int64)) % BLOCK + int(purpose) * BLOCK
