"""Units fitted to the data: observations and continuous actions as multiples of their spread in the training episodes.

Sizes of components decide, not spreads: a clue that is 1 at one step in a thousand has a small spread and a good size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.data.column_statistics import Moments, class_shares, moments
from rate.data.columns import escaped
from rate.data.store import TrajectoryStore
from rate.models.policy import SequencePolicy
from rate.nn.encoders import units
from rate.nn.tokens import Tokens
from rate.nn.unit import Choices, Unit

APART = 10.0
"""Sizes that differ by more than this, from each other or from 1, are worth a unit."""
DIM = 0.02
"""Images whose pixels vary by less than this share of their range, such as grids of small codes, are too."""


def fit_units(policy: SequencePolicy[Any], store: TrajectoryStore, ids: NDArray[np.int64], always: bool) -> None:
    """Fit the units of a policy to some episodes: all of them, or those that need it."""
    known: dict[str, Moments] = {}
    for column, unit in _units(policy):
        if isinstance(unit, Choices):
            unit.fit(class_shares(store, ids, column))
            continue
        if column not in known:
            known[column] = moments(store, ids, column)
        found = known[column]
        needs = _uneven if tuple(unit.mean.shape) == found.mean.shape else _is_dim
        if always or needs(found, unit):
            unit.fit(*_per_channel(found, tuple(unit.mean.shape)))


def _units(policy: SequencePolicy[Any]) -> Iterator[tuple[str, Unit | Choices]]:
    """Name of a column, and the unit in which the policy takes it."""
    tokens: Tokens | None = getattr(policy, "tokens", None)  # a model of one's own may have none
    if tokens is not None:
        for path, unit in units(tokens.observation):
            yield ".".join(["observations", *(escaped(str(key)) for key in path)]), unit
        if tokens.actions is not None:
            yield from (("actions", unit) for _, unit in units(tokens.actions[0]))
    if policy.action_unit is not None:
        yield "actions", policy.action_unit


def _uneven(found: Moments, unit: Unit) -> bool:
    """Whether components are far from 1 in the unit that the space gives, or from each other."""
    sizes = found.peak / np.asarray(unit.std.cpu(), dtype=np.float64)
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return False
    return bool(sizes.max() > APART or sizes.max() * APART < 1 or sizes.max() > APART * sizes.min())


def _is_dim(found: Moments, unit: Unit) -> bool:
    _, std = _per_channel(found, tuple(unit.mean.shape))
    return bool((std < DIM * np.asarray(unit.std.cpu())).all())


def _per_channel(found: Moments, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and spread over the axes along which the unit has one number."""
    axes = tuple(axis for axis, length in enumerate(shape) if length == 1 and found.mean.shape[axis] > 1)
    mean = found.mean.mean(axes, keepdims=True)
    spread = np.square(found.std).mean(axes, keepdims=True) + np.square(found.mean - mean).mean(axes, keepdims=True)
    return mean, np.sqrt(spread)
