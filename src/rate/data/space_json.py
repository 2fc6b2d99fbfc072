"""Gymnasium spaces as JSON values and back, exact in dtype, bounds and start.

The card of a data set and the checkpoints of a run carry spaces in this form.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rate.data.limits import check_row
from rate.errors import DataError, RateError
from rate.spaces import branches
from rate.system.files import shown
from rate.types import Array, Spaces

Json = dict[str, Any]


def _number(value: Any) -> Any:
    """A JSON number; strict JSON has no infinity, so that is written as a string."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _bounds_to_json(bounds: Array) -> Any:
    """One number where all bounds are the same, which keeps the card of an image space short."""
    flat = bounds.ravel().tolist()
    if flat and len(set(flat)) == 1:
        return _number(flat[0])
    return [_number(value) for value in flat]


def _bounds_from_json(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if isinstance(value, list):
        return np.array([_typed(item, dtype) for item in value], dtype=dtype).reshape(shape)
    return np.full(shape, _typed(value, dtype), dtype=dtype)


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    return float(value) if dtype.kind == "f" else value


def _box_to_json(space: spaces.Box) -> Json:
    return {
        "dtype": str(space.dtype),
        "shape": list(space.shape),
        "low": _bounds_to_json(space.low),
        "high": _bounds_to_json(space.high),
    }


def _box_from_json(value: Json) -> spaces.Box:
    shape, dtype = tuple(value["shape"]), np.dtype(value["dtype"])
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("a shape of whole numbers is expected")
    check_row(math.prod(shape) * dtype.itemsize)
    low, high = (_bounds_from_json(value[name], shape, dtype) for name in ("low", "high"))
    return spaces.Box(low=low, high=high, shape=shape, dtype=dtype.type)


def _discrete_to_json(space: spaces.Discrete[Any]) -> Json:
    return {"n": int(space.n), "start": int(space.start), "dtype": str(space.dtype)}


def _discrete_from_json(value: Json) -> spaces.Discrete[Any]:
    # Older Gymnasium releases know no dtype here: it is only given where it is not theirs.
    dtype = {} if value["dtype"] == "int64" else {"dtype": value["dtype"]}
    return spaces.Discrete(value["n"], start=value["start"], **dtype)


def _multi_discrete_to_json(space: spaces.MultiDiscrete[Any]) -> Json:
    return {"nvec": space.nvec.tolist(), "start": space.start.tolist(), "dtype": str(space.dtype)}


def _multi_discrete_from_json(value: Json) -> spaces.MultiDiscrete[Any]:
    return spaces.MultiDiscrete(value["nvec"], dtype=value["dtype"], start=value["start"])


def _multi_binary_to_json(space: spaces.MultiBinary) -> Json:
    return {"n": list(space.n) if isinstance(space.n, tuple) else int(space.n)}


def _multi_binary_from_json(value: Json) -> spaces.MultiBinary:
    return spaces.MultiBinary(value["n"])


def _dict_to_json(space: spaces.Dict) -> Json:
    # Pairs, because the order of the keys is part of the space.
    return {"spaces": [[key, space_to_json(part)] for key, part in space.spaces.items()]}


def _dict_from_json(value: Json) -> spaces.Dict:
    return spaces.Dict(OrderedDict((key, space_from_json(part)) for key, part in value["spaces"]))


def _tuple_to_json(space: spaces.Tuple[Any]) -> Json:
    return {"spaces": [space_to_json(part) for part in space.spaces]}


def _tuple_from_json(value: Json) -> spaces.Tuple[Any]:
    return spaces.Tuple([space_from_json(part) for part in value["spaces"]])


def _text_to_json(space: spaces.Text) -> Json:
    return {"min_length": space.min_length, "max_length": space.max_length, "charset": space.characters}


def _text_from_json(value: Json) -> spaces.Text:
    return spaces.Text(value["max_length"], min_length=value["min_length"], charset=value["charset"])


_KINDS: dict[str, tuple[type[gym.Space[Any]], Callable[[Any], Json], Callable[[Json], gym.Space[Any]]]] = {
    "Box": (spaces.Box, _box_to_json, _box_from_json),
    "Discrete": (spaces.Discrete, _discrete_to_json, _discrete_from_json),
    "MultiDiscrete": (spaces.MultiDiscrete, _multi_discrete_to_json, _multi_discrete_from_json),
    "MultiBinary": (spaces.MultiBinary, _multi_binary_to_json, _multi_binary_from_json),
    "Dict": (spaces.Dict, _dict_to_json, _dict_from_json),
    "Tuple": (spaces.Tuple, _tuple_to_json, _tuple_from_json),
    "Text": (spaces.Text, _text_to_json, _text_from_json),
}


def space_to_json(space: gym.Space[Any]) -> Json:
    """The space as a value that strict JSON can hold."""
    for kind, (cls, encode, _) in _KINDS.items():
        if isinstance(space, cls):
            return {"type": kind, **encode(space)}
    raise DataError(f"space {type(space).__name__} cannot be stored; use one of {', '.join(_KINDS)}")


def space_from_json(value: Json) -> gym.Space[Any]:
    """The space that `space_to_json` was given."""
    try:
        return _KINDS[value["type"]][2](value)
    except RateError:
        raise
    except Exception as error:  # Gymnasium and NumPy refuse in many ways
        raise DataError(f"not a description of a space: {shown(value, 80)}") from error


def spaces_to_json(value: Spaces) -> Json:
    oracle = {} if value.oracle is None else {"oracle": space_to_json(value.oracle)}
    return {"observation": space_to_json(value.observation), "action": space_to_json(value.action), **oracle}


def spaces_from_json(value: Json) -> Spaces:
    oracle = space_from_json(value["oracle"]) if "oracle" in value else None
    spaces = {name: space_from_json(value[name]) for name in ("observation", "action")}
    return Spaces(**spaces, oracle=oracle)


def same_space(one: gym.Space[Any], other: gym.Space[Any]) -> bool:
    """Whether both have the same values. Bounds are exact; Gymnasium's own equality takes close ones for equal.

    The order of the keys of a Dict and the integer type of classes do not count: Minari does not keep them.
    """
    return _values(space_to_json(one)) == _values(space_to_json(other))


def _values(value: Json) -> Json:
    """What of a description tells the values of the space."""
    if value["type"] == "Dict":
        return {**value, "spaces": {key: _values(part) for key, part in value["spaces"]}}
    if value["type"] == "Tuple":
        return {**value, "spaces": [_values(part) for part in value["spaces"]]}
    return {**value, "dtype": None} if value["type"] in ("Discrete", "MultiDiscrete") else value


def same_form(one: gym.Space[Any], other: gym.Space[Any]) -> bool:
    """Whether values of the one can be read as values of the other: the same parts, classes and shapes, any bounds."""
    mine, others = branches(one), branches(other)
    if mine is not None and others is not None and type(one) is type(other):
        return mine.keys() == others.keys() and all(same_form(part, others[key]) for key, part in mine.items())
    if isinstance(one, spaces.Box) and isinstance(other, spaces.Box):
        return one.shape == other.shape and (one.dtype == np.uint8) == (other.dtype == np.uint8)
    return same_space(one, other)
