"""The files of run directories: JSON and JSON lines.

A process that was killed may leave half a last line; anything else that does not parse is an error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rate.errors import CheckpointError
from rate.system.files import read_bytes, read_json, reading


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} must hold a JSON object, it holds a {type(value).__name__}")
    return value


def read_optional_object(path: Path) -> dict[str, Any]:
    """As `read_object`; empty where there is no such file."""
    return read_object(path) if path.is_file() else {}


def read_jsonl(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """The objects in a file of JSON lines, and whether the last line was cut off; no file is no lines."""
    lines = _numbered_lines(path)
    objects: list[dict[str, Any]] = []
    for number, line in lines:
        value = _parse_object(line)
        if value is not None:
            objects.append(value)
        elif number == lines[-1][0]:
            return objects, True
        else:
            raise CheckpointError(f"{path}: line {number} is not a JSON object; correct the line or remove it")
    return objects, False


def _numbered_lines(path: Path) -> list[tuple[int, bytes]]:
    if not path.is_file():
        return []
    with reading(path):
        lines = read_bytes(path).split(b"\n")
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _whole(text: str) -> float:
    """A whole number; one beyond 64 bits is one that no float needs to hold: infinite or rounded."""
    return int(text) if len(text) < 20 else float(text)


def _parse_object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line, parse_int=_whole)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
