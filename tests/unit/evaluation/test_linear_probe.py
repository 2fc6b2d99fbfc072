"""The linear probe: it finds what is there, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from rate.evaluation.linear_probe import fit_probe


def accuracy(signal: float, values: int, features: int = 300, n: int = 100) -> float:
    """On fresh vectors of noise in which a value moves one direction that varies far less than the others."""
    random = np.random.default_rng(0)
    directions = random.standard_normal((values, features)) / np.sqrt(features)
    sizes = 10.0 ** random.uniform(-2, 2, features)

    def draw() -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(n) % values
        return (random.standard_normal((n, features)) + signal * directions[labels]) * sizes + 5, labels

    learn, judge = draw(), draw()
    return float((fit_probe(*learn, values).guess(judge[0]) == judge[1]).mean())


@pytest.mark.parametrize("values", [2, 4])
def test_a_signal_is_found_and_noise_is_not(values: int) -> None:
    assert accuracy(40.0, values) > 0.97
    assert abs(accuracy(0.0, values) - 1 / values) < 0.15


def test_vectors_that_are_all_alike_give_the_most_frequent_value() -> None:
    same = np.full((9, 4), 1 / 3) + 1e-9 * np.arange(36).reshape(9, 4)  # as far apart as rounding
    probe = fit_probe(same, np.array([0, 1, 1, 0, 1, 2, 1, 1, 0]), 3)
    assert (probe.guess(same) == 1).all()
