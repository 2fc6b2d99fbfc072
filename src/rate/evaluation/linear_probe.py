"""A linear probe: which of a few values follows from a vector, learnt from some episodes and judged on others.

Ridge regression to one column per value. Its strength is the one that guesses best when each episode is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

STRENGTHS = (10.0, 1.0, 0.1, 0.01)
"""Of the ridge, relative to the mean size of the vectors; of equal ones the strongest is taken."""
STILL = 1e-5
"""A feature that varies less than this, relative to the size of all, is rounding and tells nothing."""


@dataclass(frozen=True, kw_only=True)
class LinearProbe:
    """Scores of all values from a vector; the guess is the value with the largest."""

    centre: Floats
    scale: Floats
    weights: Floats
    """(features, values)"""
    bias: Floats

    def guess(self, vectors: Floats) -> Labels:
        """(n, features) -> (n,)"""
        scores = (vectors - self.centre) * self.scale @ self.weights + self.bias
        return np.asarray(scores.argmax(1), np.int64)


def fit_probe(vectors: Floats, labels: Labels, values: int) -> LinearProbe:
    """Learn from n vectors (n, features) and the places of their values among `values`."""
    wanted = np.eye(values)[labels]
    bias, centre, spread = wanted.mean(0), vectors.mean(0), vectors.std(0)
    moves = spread > STILL * max(float(np.sqrt((vectors**2).mean())), 1e-30)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=moves) / np.sqrt(max(1, moves.sum()))
    x = (vectors - centre) * scale
    # With fewer episodes than features the problem is solved among episodes: one decomposition serves all strengths.
    sizes, axes = np.linalg.eigh(x @ x.T)
    turned, unit = axes.T @ (wanted - bias), max(float(sizes.mean()), 1e-12)
    best = max(STRENGTHS, key=lambda ridge: _left_out(axes, sizes, turned, ridge * unit, wanted - bias, labels, bias))
    return LinearProbe(
        centre=centre,
        scale=scale,
        weights=x.T @ (axes @ (turned / (sizes[:, None] + best * unit))),
        bias=bias,
    )


def _left_out(
    axes: Floats, sizes: Floats, turned: Floats, ridge: float, wanted: Floats, labels: Labels, bias: Floats
) -> float:
    """How often the value of an episode is guessed from all others, in closed form."""
    kept = np.clip(sizes, 0, None) / (np.clip(sizes, 0, None) + ridge)
    fitted, own = axes @ (kept[:, None] * turned), (axes**2 * kept).sum(1) + 1 / len(labels)
    guessed = wanted - (wanted - fitted) / np.clip(1 - own, 1e-9, None)[:, None] + bias
    return float((guessed.argmax(1) == labels).mean())
