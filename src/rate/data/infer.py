"""Spaces inferred from values, for data that comes without a description of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.errors import DataError
from rate.types import Array, Spaces

ROWS = 1 << 16
MOST_CLASSES = 1 << 16
"""Larger whole numbers are no classes: times, identities, hashes. A model has a row of weights for every class."""


def inferred_spaces(observations: Any, actions: Any) -> Spaces:
    """The spaces of a column, or of a list of columns (one per episode)."""
    return Spaces(observation=_observation_space(_parts(observations)), action=_action_space(_parts(actions)))


def _parts(column: Any) -> list[Any]:
    return column if isinstance(column, list) else [column]


def _observation_space(parts: list[Any]) -> gym.Space[Any]:
    """Whole numbers of one component from 0 on are symbols, bytes are pixels, anything else is a vector."""
    first = parts[0]
    if any(isinstance(part, Mapping) for part in parts):
        if any(not isinstance(part, Mapping) or set(part) != set(first) for part in parts):
            raise DataError("observations have several forms; all episodes must be alike")
        return gym.spaces.Dict({key: _observation_space([part[key] for part in parts]) for key in first})
    if isinstance(first, tuple) and all(isinstance(part, tuple) and len(part) == len(first) for part in parts):
        return gym.spaces.Tuple([_observation_space(list(leaves)) for leaves in zip(*parts, strict=True)])
    dtype, shape = _layout(parts, "observations")
    if dtype.kind == "f":
        return gym.spaces.Box(-np.inf, np.inf, shape, dtype.type)
    low, high = _range(parts)
    if shape == () and low.min() >= 0 and high.max() < MOST_CLASSES:
        return gym.spaces.Discrete(int(high.max()) + 1)
    if dtype == np.uint8:
        return gym.spaces.Box(0, 255, shape, np.uint8)
    return gym.spaces.Box(int(low.min()), int(high.max()), shape, np.int64)


def _action_space(parts: list[Any]) -> gym.Space[Any]:
    """Whole numbers are classes from 0 on; real numbers have the bounds [-1, 1], or those of the data beyond them."""
    dtype, shape = _layout(parts, "actions")
    low, high = _range(parts)
    if dtype.kind == "f":
        low, high = np.minimum(low, -1).astype(dtype), np.maximum(high, 1).astype(dtype)
        one = shape or (1,)
        return gym.spaces.Box(low.reshape(one), high.reshape(one), one, dtype.type)
    if low.min() < 0:
        raise DataError("actions are whole numbers below 0, so their space cannot be told; name it with --env")
    if high.max() >= MOST_CLASSES:
        raise DataError(f"actions are whole numbers up to {high.max()}: too many classes; name their space with --env")
    if shape in ((), (1,)):
        return gym.spaces.Discrete(int(high.max()) + 1)
    return gym.spaces.MultiDiscrete(high.astype(np.int64) + 1)


def _layout(parts: list[Any], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    found = {(np.asarray(part[:1]).dtype, np.shape(part)[1:]) for part in parts if len(part)}
    shapes = {shape for _, shape in found}
    if len(shapes) != 1:
        raise DataError(f"{name} have {'several shapes' if shapes else 'no rows'}; all episodes must be alike")
    dtype = np.result_type(*(dtype for dtype, _ in found))
    if dtype.kind not in "biuf":
        raise DataError(f"{name} are of type {dtype}; they must be numbers")
    return dtype, shapes.pop()


def _range(parts: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Least and largest value of each component; what is not finite is left to the check of each episode."""
    chunks = list(_chunks(parts))
    low = np.min([np.nan_to_num(chunk).min(0) for chunk in chunks], axis=0)
    return low, np.max([np.nan_to_num(chunk).max(0) for chunk in chunks], axis=0)


def _chunks(parts: list[Any]) -> Iterator[Array]:
    for part in parts:
        for start in range(0, len(part), ROWS):
            rows = np.asarray(part[start : start + ROWS])
            yield rows.astype(np.int64) if rows.dtype.kind == "b" else rows
