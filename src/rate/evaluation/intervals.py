"""Estimates with intervals: Wilson for rates, mean and SEM for returns, stratified bootstrap for several tasks.

The interquartile mean and its bootstrap follow Agarwal et al. 2021 (rliable): runs are resampled within each task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate and its bounds; the bounds are NaN where the data cannot give them."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The success rate of n trials with the Wilson score interval."""
    _check_confidence(confidence)
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, got successes={successes}, n={n}")
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    rate = successes / n
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At the ends the bound equals the rate; floating point would miss it by an ulp and print -0.00.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(rate, low, high)


def mean_sem(values: Sequence[float] | Floats) -> Interval:
    """The mean, and one standard error (n - 1 in the variance) to either side; one value has no standard error."""
    array = _finite(values, "values")
    mean = float(array.mean())
    sem = float(array.std(ddof=1)) / math.sqrt(array.size) if array.size > 1 else math.nan
    return Interval(mean, mean - sem, mean + sem)


def estimate(values: Sequence[float], *, rate: bool) -> Interval:
    """Of successes (1) and failures (0) the rate with its Wilson 95 % interval; of others `mean_sem`."""
    return wilson_interval(round(sum(values)), len(values)) if rate else mean_sem(values)


def iqm(values: ArrayLike) -> float:
    """The interquartile mean over all entries: a quarter of them, rounded down, is cut from each end."""
    array = np.sort(_finite(values, "values"), axis=None)
    cut = array.size // 4
    return float(array[cut : array.size - cut].mean())


def bootstrap_interval(
    scores: ArrayLike,
    statistic: Callable[[Floats], float] = iqm,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """A statistic of a (runs, tasks) matrix with its percentile interval, the runs resampled within each task."""
    _check_confidence(confidence)
    matrix = _finite(scores, "scores")
    if matrix.ndim != 2:
        raise ValueError(f"scores must be a (runs, tasks) matrix, got shape {matrix.shape}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    generator = np.random.default_rng(seed)
    estimates = [statistic(_resample(matrix, generator)) for _ in range(resamples)]
    tail = (1 - confidence) / 2
    low, high = np.quantile(estimates, [tail, 1 - tail])
    return Interval(float(statistic(matrix)), float(low), float(high))


def bootstrap_tasks(
    tasks: Sequence[ArrayLike],
    statistic: Callable[[Floats], float] = iqm,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """As `bootstrap_interval`, for tasks that may differ in their number of runs; every task weighs the same.

    The bounds are NaN where no task has a second run.
    """
    _check_confidence(confidence)
    columns = [_finite(runs, "runs") for runs in tasks]
    whole = math.lcm(*map(len, columns))

    def matrix(chosen: Sequence[Floats]) -> Floats:
        """(..., runs of each task) -> (..., runs, tasks), the runs repeated until all tasks have as many."""
        return np.stack([np.repeat(runs, whole // runs.shape[-1], axis=-1) for runs in chosen], axis=-1)

    value = float(statistic(matrix(columns)))
    if all(len(runs) == 1 for runs in columns):
        return Interval(value, math.nan, math.nan)
    generator = np.random.default_rng(seed)
    drawn = [runs[generator.integers(len(runs), size=(resamples, len(runs)))] for runs in columns]
    tail = (1 - confidence) / 2
    low, high = np.quantile([statistic(sample) for sample in matrix(drawn)], [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def _resample(matrix: Floats, generator: np.random.Generator) -> Floats:
    rows = generator.integers(len(matrix), size=matrix.shape)
    return np.take_along_axis(matrix, rows, axis=0)


def _finite(values: Any, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{name} must not be empty")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
