"""Values that a user gives to an actor: finite, of the right shape, inside of their space.

They are looked at as NumPy arrays, before they become tensors, since that costs a few microseconds and no transfer.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from rate.errors import ConfigError
from rate.types import Array

FLOAT32 = np.dtype(np.float32)
LARGEST = float(np.finfo(FLOAT32).max)


def check_number(name: str, value: Any) -> float:
    """A number that float32, in which policies compute, can hold."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigError(f"{name} is {value!r}; it must be a number")
    try:
        number = float(value)
    except OverflowError:  # a whole number has no limit
        number = math.inf
    if not abs(number) <= LARGEST:  # written so that nan fails it
        raise ConfigError(f"{name} is {value}; it must be finite, and float32 must be able to hold it")
    return number


def check_positive(name: str, value: Any) -> float:
    number = check_number(name, value)
    if number <= 0:
        raise ConfigError(f"{name} is {value}; it must be positive")
    return number


def is_finite(array: Array) -> bool:
    """Whether all values are finite; other types than floating ones always are."""
    if array.dtype.kind != "f":
        return True
    # The square is a fifth of the cost, and finite unless a value is not, or is too large to be squared.
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def to_float32(array: Array) -> Array:
    """What float32 cannot hold becomes infinite, without a warning."""
    if array.dtype == FLOAT32:
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def numbers(what: str, value: ArrayLike) -> Array:
    """As float32."""
    try:
        array = to_float32(np.asarray(value))
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{what} {value!r} are not numbers") from None
    if not is_finite(array):
        raise ConfigError(f"{what} are not finite: {array}")
    return array


def check_actions(space: gym.Space[Any], given: ArrayLike, batch: tuple[int, ...]) -> Array:
    """Actions of a space, one for each row of a batch (or one alone), as the tokens of a policy take them."""
    try:
        actions = np.asarray(given)
    except ValueError:
        raise ConfigError(f"the action {given!r} is no array; give actions of {space}") from None
    shape = (*batch, *(space.shape or ()))
    if actions.shape != shape or actions.dtype.kind not in "biuf":
        raise ConfigError(f"the actions given to observe have the shape {actions.shape}; {space} needs {shape}")
    low, high = _bounds(space)
    whole = isinstance(space, gym.spaces.Box) or actions.dtype.kind != "f"
    if not whole or not bool(((actions >= low) & (actions <= high)).all()):
        raise ConfigError(f"the action {given!r} that was given to observe lies outside of {space}")
    return actions.astype(np.float32 if isinstance(space, gym.spaces.Box) else np.int64)


def _bounds(space: gym.Space[Any]) -> tuple[Any, Any]:
    if isinstance(space, gym.spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, gym.spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    assert isinstance(space, gym.spaces.Box)  # a head has been made for it
    largest = np.full_like(space.high, LARGEST, dtype=np.float64)  # infinite is no action
    return np.maximum(space.low, -largest), np.minimum(space.high, largest)
