"""Intervals against values known from tables and from the definition.

The bootstrap is checked for what it must do: cover, narrow with more runs, and keep tasks apart.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from rate.evaluation.intervals import Interval, bootstrap_interval, iqm, mean_sem, wilson_interval


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (10, 10, 0.7225, 1.0),
        (0, 10, 0.0, 0.2775),
        (50, 100, 0.4038, 0.5962),
        (100, 100, 0.9630, 1.0),
        (1, 1, 0.2065, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_known_values(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, n)
    assert interval.value == successes / n
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize("n", [1, 3, 7, 30, 99, 1000, 12345])
def test_wilson_is_exact_at_the_ends(n: int) -> None:
    assert wilson_interval(0, n).low == 0.0
    assert wilson_interval(n, n).high == 1.0
    assert wilson_interval(n, n).low == pytest.approx(1 - wilson_interval(0, n).high)


def test_wilson_widens_with_confidence() -> None:
    wide, narrow = wilson_interval(7, 20, 0.99), wilson_interval(7, 20, 0.9)
    assert wide.low < narrow.low < 0.35 < narrow.high < wide.high


@pytest.mark.parametrize(("successes", "n", "confidence"), [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (1, 5, 1.0)])
def test_wilson_refuses(successes: int, n: int, confidence: float) -> None:
    with pytest.raises(ValueError):
        wilson_interval(successes, n, confidence)


def test_mean_sem() -> None:
    interval = mean_sem([1.0, 2.0, 3.0, 4.0])
    sem = math.sqrt(5 / 3) / 2
    assert (interval.value, interval.low, interval.high) == pytest.approx((2.5, 2.5 - sem, 2.5 + sem))


def test_one_value_has_no_standard_error() -> None:
    interval = mean_sem([3.0])
    assert interval.value == 3.0
    assert math.isnan(interval.low) and math.isnan(interval.high)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_values_must_be_finite_and_there(values: list[float]) -> None:
    with pytest.raises(ValueError):
        mean_sem(values)
    with pytest.raises(ValueError):
        iqm(values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([5.0], 5.0), ([1, 2, 3, 100], 2.5), ([8, 1, 7, 2, 6, 3, 5, 4], 4.5), ([0, 1, 2, 3, 10], 2.0)],
)
def test_iqm_cuts_a_quarter_from_each_end(values: list[float], expected: float) -> None:
    assert iqm(values) == pytest.approx(expected)


def test_iqm_takes_a_matrix_as_one_sample() -> None:
    assert iqm([[1, 2, 3, 4], [5, 6, 7, 8]]) == iqm(range(1, 9))


def test_bootstrap_is_stratified_over_tasks() -> None:
    # Runs agree within each task, so resampling within tasks changes nothing however far the tasks lie apart.
    assert bootstrap_interval([[0.0, 1.0, 5.0]] * 4, resamples=50) == Interval(1.5, 1.5, 1.5)


def test_bootstrap_resamples_tasks_independently() -> None:
    # Resampling whole rows would leave each difference at zero.
    interval = bootstrap_interval([[0, 0], [1, 1]], lambda matrix: float(matrix[0, 0] - matrix[0, 1]), resamples=200)
    assert interval == Interval(0.0, -1.0, 1.0)


def test_bootstrap_is_close_to_the_normal_interval_of_a_mean() -> None:
    scores = np.random.default_rng(3).normal(0.5, 0.1, size=(50, 4))
    interval = bootstrap_interval(scores, lambda matrix: float(matrix.mean()), resamples=2000)
    half = 1.96 * 0.1 / math.sqrt(200)
    assert interval.value == pytest.approx(scores.mean())
    assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=0.15)


def test_bootstrap_repeats_with_its_seed() -> None:
    scores = np.random.default_rng(0).random((5, 3))
    assert bootstrap_interval(scores, seed=1, resamples=100) == bootstrap_interval(scores, seed=1, resamples=100)
    assert bootstrap_interval(scores, seed=1, resamples=100) != bootstrap_interval(scores, seed=2, resamples=100)


@pytest.mark.parametrize(
    ("scores", "confidence", "resamples"),
    [([1.0, 2.0], 0.95, 10), ([[]], 0.95, 10), ([[math.nan]], 0.95, 10), ([[1.0]], 0.0, 10), ([[1.0]], 0.95, 0)],
)
def test_bootstrap_refuses(scores: list[object], confidence: float, resamples: int) -> None:
    with pytest.raises(ValueError):
        bootstrap_interval(scores, iqm, confidence, resamples)
