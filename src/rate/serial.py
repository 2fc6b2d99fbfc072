"""Frozen dataclasses to JSON and back, and files that are written whole or not at all.

A field that is declared with a base class is tagged with the class that it holds.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from rate.errors import CheckpointError, RateError

T = TypeVar("T")
Resolve = Callable[[str], type[Any]]

FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows may have no quota
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


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
    values = {name: _value(hints[name], data[name], resolve) for name in known if name in data}
    return typing.cast(T, actual(**values))


def _value(hint: Any, data: Any, resolve: Resolve) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return from_dict(hint, data, resolve)
    if typing.get_origin(hint) is tuple:
        return tuple(data)
    if hint is float or (float in typing.get_args(hint) and data is not None):
        return float(data)
    return data


def write_atomically(path: Path, content: bytes | str, sync: bool = True) -> None:
    """Write a file beside its place and move it there; `sync`: so that it survives a power cut."""
    temporary = path.with_name(f".{path.name}.tmp")
    payload = content.encode() if isinstance(content, str) else content
    try:
        with open(temporary, "wb") as file:
            file.write(payload)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if sync:
        _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    """A move lasts when its directory is on disk; only POSIX lets a directory be opened for that."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def disk_message(path: Path, reason: OSError, doing: str = "write") -> str:
    """One line for what a disk can refuse, with what to do."""
    if reason.errno in FULL:
        advice = "the disk is full; free some space or choose another directory"
    elif reason.errno in FORBIDDEN:
        advice = "permission denied; choose another directory or change its permissions"
    else:
        advice = f"{reason.strerror or reason}; choose another directory"
    return f"cannot {doing} {path}: {advice}"


def write_json(path: Path, value: Any, sync: bool = True) -> None:
    write_atomically(path, json.dumps(value, indent=2, allow_nan=False) + "\n", sync)


def read_json(path: Path, error: type[RateError] = CheckpointError) -> Any:
    """The content of a JSON file; a file that is missing or damaged is the user's to know of."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise error(f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as reason:
        raise error(f"{path} cannot be read: {reason}") from None
