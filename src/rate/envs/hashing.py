"""Random numbers as hashes of (seed, stream, counter), for environments that are a function of their seed alone.

Such an episode is the same alone, in any batch and in any order, and whole batches are drawn at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rate.types import Array

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""The counter of a stream grows by this; stream number k starts at k times this."""
NOISE_STREAM, LENGTH_STREAM, LOSS_STREAM = np.arange(3, dtype=np.uint64) * GAMMA
_HALF = np.uint64(32)


def mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def key(seeds: Array, stream: np.uint64) -> NDArray[np.uint64]:
    """Where the stream of a seed starts; draw number t is `mix(key + t * GAMMA)`."""
    return mix(mix(seeds.astype(np.uint64)) + stream)


def below(bits: NDArray[np.uint64], bound: int) -> NDArray[np.int64]:
    """Uniform integers 0 .. bound - 1 from the high halves: the bias is below bound / 2**32."""
    return (((bits >> _HALF) * np.uint64(bound)) >> _HALF).astype(np.int64)


def noise_at(counter: NDArray[np.uint64]) -> NDArray[np.int64]:
    """A value in {-1, 0, 1} for each place in a stream."""
    return below(mix(counter), 3) - 1


def noise(seeds: Array, steps: int) -> NDArray[np.int64]:
    """The noise channel of the first observations, in {-1, 0, 1}: (B,) seeds -> (B, steps)."""
    counter = np.arange(steps, dtype=np.uint64) * GAMMA
    return noise_at(key(seeds, NOISE_STREAM)[:, None] + counter)


def seed_array(seed: int | None, generator: np.random.Generator) -> NDArray[np.uint64]:
    """The seed that `reset` was given, or one from the generator where it was given none; (1,)."""
    drawn = int(generator.integers(1 << 31)) if seed is None else seed
    return np.array([drawn % (1 << 64)], dtype=np.uint64)
