"""Frozen dataclasses to JSON values and back.

A field that is declared with a base class is tagged with the class that it holds.
"""

from __future__ import annotations

import functools
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from rate.errors import CheckpointError, ConfigError
from rate.system.files import shown

T = TypeVar("T")
Resolve = Callable[[str], type[Any]]
ABSENT = "absent"
"""In the metadata of a field: its value in what was stored before the field was there, if that is not the default."""
LARGEST = 2**63
"""Whole numbers of a stored configuration are below this."""


class Stored(str):
    """A text that a file gave. It is data: whatever it says, it never decides which code is imported."""


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
    if cls not in actual.__mro__:
        raise CheckpointError(f"a {cls.__name__} is expected, found {actual.__name__}")
    hints = typing.get_type_hints(actual)
    known = {item.name for item in fields(actual)}
    unknown = sorted(set(data) - known - {"type"})
    if unknown:
        raise CheckpointError(f"{tag} has no field {unknown[0]!r}; the configuration is of another version of rate")
    values = {item.name: item.metadata[ABSENT] for item in fields(actual) if ABSENT in item.metadata}
    values |= {name: _value(name, hints[name], data[name], resolve) for name in known if name in data}
    return typing.cast(T, actual(**values))


def _value(name: str, hint: Any, data: Any, resolve: Resolve) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return from_dict(hint, data, resolve)
    value = _leaf(hint, data)
    if not fits(value, hint):
        raise CheckpointError(f"{name} is {shown(repr(data), 40)}; it must be of type {type_name(hint)}")
    return value


def _leaf(hint: Any, data: Any) -> Any:
    """What JSON makes of tuples, of whole floats and of floats that are not finite, undone; texts are marked."""
    if typing.get_origin(hint) is tuple and isinstance(data, list):
        inner = typing.get_args(hint)
        return tuple(_leaf(inner[0] if inner else Any, item) for item in data)
    if (hint is float or float in typing.get_args(hint)) and isinstance(data, (int, float, str)) and data is not True:
        return float(data)
    if isinstance(data, int) and abs(data) >= LARGEST:
        raise CheckpointError(f"a whole number of {len(str(data))} digits is too large")
    return Stored(data) if isinstance(data, str) else data


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"train": {"steps": 5}} -> {"train.steps": 5}"""
    pairs = ((f"{prefix}{name}", value) for name, value in values.items())
    inner = (flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value} for name, value in pairs)
    return {name: value for part in inner for name, value in part.items()}


def check_types(config: Any, prefix: str = "") -> None:
    """Refuse values of a dataclass that are not of the types of its fields, in the words of the command line."""
    cls: Any = type(config)
    hints = _hints(cls)
    for item in fields(config):
        value = getattr(config, item.name)
        if not fits(value, hints[item.name]):
            typed(f"{prefix}{item.name}", value, hints[item.name], strict=True)


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def typed(name: str, value: Any, hint: Any, strict: bool = False) -> Any:
    """The value, if it is of the type; unless `strict`, a list will do for a tuple, and one text for one of texts."""
    if not strict and typing.get_origin(hint) is tuple and isinstance(value, (str, list)):
        value = (value,) if isinstance(value, str) else tuple(value)
    if not fits(value, hint):
        known = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
        rule = f"one of {', '.join(map(str, known))}" if known else f"of type {type_name(hint)}"
        raise ConfigError(f"{name} is {value!r}; it must be {rule}")
    return value


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; whole numbers are of float too, and truth values of neither."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is tuple:
        each = arguments[:1] * len(value) if arguments[1:] == (...,) and isinstance(value, tuple) else arguments
        return isinstance(value, tuple) and len(value) == len(each) and all(map(fits, value, each))
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def type_name(hint: Any) -> str:
    name = str(hint) if typing.get_origin(hint) else getattr(hint, "__name__", str(hint))
    return name.replace("typing.", "")
