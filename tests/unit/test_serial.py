"""Dataclasses to JSON and back without loss."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import pytest

from rate.errors import CheckpointError, ConfigError
from rate.serial import ABSENT, from_dict, to_dict


@dataclass(frozen=True, kw_only=True)
class Shape:
    name: str = "any"


@dataclass(frozen=True, kw_only=True)
class Circle(Shape):
    radius: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Picture:
    shape: Shape
    size: tuple[int, ...] = ()
    scale: float = 1.0
    title: str | None = None
    limit: float | None = None
    inner: Circle = field(default_factory=Circle)
    frame: Circle = field(default_factory=Circle, metadata={ABSENT: Circle(radius=0.0)})


CLASSES = {"Circle": Circle, "Shape": Shape}


def resolve(name: str) -> type[Any]:
    if name not in CLASSES:
        raise ConfigError(f"no class {name}")
    return CLASSES[name]


def round_trip(value: Picture) -> Picture:
    return from_dict(Picture, json.loads(json.dumps(to_dict(value), allow_nan=False)), resolve)


def test_the_class_of_a_base_field_survives() -> None:
    value = Picture(shape=Circle(radius=0.1), size=(3, 4), title="x")
    assert round_trip(value) == value
    assert isinstance(round_trip(value).shape, Circle)
    assert type(round_trip(Picture(shape=Shape())).shape) is Shape


@pytest.mark.parametrize("number", [0.1, 1e-300, math.inf, -math.inf, math.nan])
def test_floats_are_exact(number: float) -> None:
    found = round_trip(Picture(shape=Shape(), scale=number, limit=number))
    for value in (found.scale, found.limit):
        assert value == number or (isinstance(value, float) and math.isnan(value) and math.isnan(number))


def test_no_limit_stays_none() -> None:
    assert round_trip(Picture(shape=Shape())).limit is None


def test_a_missing_field_takes_its_default() -> None:
    assert from_dict(Picture, {"shape": {}}, resolve) == Picture(shape=Shape(), frame=Circle(radius=0.0))


def test_a_field_may_have_meant_something_else_before_it_was_there() -> None:
    assert Picture(shape=Shape()).frame == Circle()
    assert from_dict(Picture, {"shape": {}, "frame": {}}, resolve).frame == Circle()
    assert from_dict(Picture, {"shape": {}}, resolve).frame == Circle(radius=0.0)


def test_a_whole_number_for_a_float() -> None:
    found = from_dict(Picture, {"shape": {}, "scale": 2}, resolve).scale
    assert found == 2.0 and isinstance(found, float)


def test_a_field_of_another_version() -> None:
    with pytest.raises(CheckpointError, match="Circle has no field 'colour'"):
        from_dict(Picture, {"shape": {"type": "Circle", "colour": 1}}, resolve)


@pytest.mark.parametrize("data", [3, "text", [1], None])
def test_what_is_no_object(data: Any) -> None:
    with pytest.raises(CheckpointError, match="a Picture is expected"):
        from_dict(Picture, data, resolve)


def test_a_class_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="no class Square"):
        from_dict(Picture, {"shape": {"type": "Square"}}, resolve)
