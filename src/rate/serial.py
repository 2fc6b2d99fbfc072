"""Frozen dataclasses to JSON values and back.

A field that is declared with a base class is tagged with the class that it holds.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from rate.errors import CheckpointError

T = TypeVar("T")
Resolve = Callable[[str], type[Any]]
ABSENT = "absent"
"""In the metadata of a field: its value in what was stored before the field was there, if that is not the default."""


def to_dict(value: Any) -> Any:
    """A dataclass as JSON values, each object tagged with the name of its class."""
    if is_dataclass(value) and not isinstance(value, type):
        items = {item.name: to_dict(getattr(value, item.name)) for item in fields(value)}
        return {"type": type(value).__name__, **items}
    if isinstance(value, Mapping):
        return {str(key): to_dict(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_dict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def from_dict(cls: type[T], data: Any, resolve: Resolve) -> T:
    """The dataclass that `to_dict` wrote. `resolve` finds the class of a tag where the field names a base class."""
    if not isinstance(data, Mapping):
        raise CheckpointError(f"a {cls.__name__} is expected, found {type(data).__name__}")
    tag = data.get("type", cls.__name__)
    actual: type[Any] = cls if tag == cls.__name__ else resolve(tag)
    hints = typing.get_type_hints(actual)
    known = {item.name for item in fields(actual)}
    unknown = sorted(set(data) - known - {"type"})
    if unknown:
        raise CheckpointError(f"{tag} has no field {unknown[0]!r}; the configuration is of another version of rate")
    values = {item.name: item.metadata[ABSENT] for item in fields(actual) if ABSENT in item.metadata}
    values |= {name: _value(hints[name], data[name], resolve) for name in known if name in data}
    return typing.cast(T, actual(**values))


def _value(hint: Any, data: Any, resolve: Resolve) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return from_dict(hint, data, resolve)
    if typing.get_origin(hint) is tuple:
        return tuple(data)
    if hint is float or (float in typing.get_args(hint) and data is not None):
        return float(data)
    return data
