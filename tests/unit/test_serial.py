"""Dataclasses to JSON and back without loss, and files that are whole or absent."""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rate.errors import CheckpointError, ConfigError, DataError
from rate.serial import from_dict, read_json, to_dict, write_atomically, write_json


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
    assert from_dict(Picture, {"shape": {}}, resolve) == Picture(shape=Shape())


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


# -------------------------------------------------------------------------------------------------------- files


def test_write_and_read(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"x": [1, 2]})
    assert read_json(tmp_path / "a.json") == {"x": [1, 2]}
    write_atomically(tmp_path / "b", b"\x00\xff")
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError):
        write_atomically(path, "new")
    assert [item.name for item in tmp_path.iterdir()] == ["a"] and path.read_text() == "old"


def test_nan_is_no_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_json(tmp_path / "a", {"x": math.nan})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"{'x': 1}"])
def test_files_that_are_damaged(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        read_json(tmp_path / "a", DataError)


def test_files_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        read_json(tmp_path / "a")
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_json(tmp_path)


def test_the_directory_is_synced_and_need_not_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine, synced = os.fsync, list[bool]()

    def fsync(handle: int) -> None:
        directory = stat.S_ISDIR(os.fstat(handle).st_mode)
        synced.append(directory)
        if directory:
            raise OSError(22, "Invalid argument")
        genuine(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomically(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
    assert synced == ([False, True] if os.name == "posix" else [False])
