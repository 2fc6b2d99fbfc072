"""The files of run directories and reports: JSON and JSON lines in, whole files out.

A process that was killed may leave half a last line; anything else that does not parse is an error.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from rate.errors import CheckpointError


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {_one_line(error)}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} must hold a JSON object, it holds a {type(value).__name__}")
    return value


def read_optional_json(path: Path) -> dict[str, Any]:
    """As `read_json`; empty where there is no such file."""
    return read_json(path) if path.is_file() else {}


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


def write_atomic(path: Path, content: str | bytes) -> Path:
    """Write a file so that a reader sees the old one or the new one, never half of it."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _numbered_lines(path: Path) -> list[tuple[int, bytes]]:
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _parse_object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
