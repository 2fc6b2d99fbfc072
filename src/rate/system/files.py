"""Files: read behind one boundary, written whole or not at all, never through a symbolic link.

A file may come from anybody. What it holds is data: it is bounded, checked, and named in the line that refuses it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rate.errors import CheckpointError, ConfigError, RateError

FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows may have no quota
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a named pipe in the place of a file would wait for ever
SHOWN = 200
"""Characters of a foreign text that a message shows."""
LONGEST_LINE = 1000
"""Characters of a whole message."""
LARGEST_JSON = 64 << 20
"""Bytes of a JSON file; ours have a few thousand."""


def plain(text: str) -> str:
    """A text for a terminal: line ends stay, other control and formatting characters do not."""
    return "".join(c if c == "\n" or unicodedata.category(c)[0] != "C" else "?" for c in text)


def shown(value: object, limit: int = SHOWN) -> str:
    """A text from a file or an exception as one line for a terminal: no control characters, cut to a sane length."""
    text = plain(" ".join(str(value)[: 4 * limit].split()))
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


@contextlib.contextmanager
def reading(path: Path | str, error: type[RateError] = CheckpointError) -> Iterator[None]:
    """The boundary around everything that reads a file: whatever it holds, the user gets one line that names it."""
    try:
        yield
    except RateError:
        raise
    except FileNotFoundError:
        raise error(f"{shown(path)} does not exist") from None
    except Exception as reason:  # recursion, memory, overflow, missing keys, a library's own errors: all are the file's
        what = f"{shown(reason)}" if isinstance(reason, (OSError, ValueError)) else _kind(reason)
        raise error(f"{shown(path)} cannot be read: {what}") from reason


def _kind(reason: Exception) -> str:
    if isinstance(reason, KeyError):
        return f"{shown(reason)} is missing"
    if isinstance(reason, RecursionError):
        return "it is nested too deeply"
    if isinstance(reason, MemoryError):
        return "it asks for more memory than there is"
    text = shown(reason)
    return f"{type(reason).__name__}: {text}" if text else type(reason).__name__


def inside(root: Path, name: str, error: type[RateError] = CheckpointError) -> Path:
    """The path of a name that a file gives, which must be a plain name: nothing outside of the directory."""
    if not name or name in (".", "..") or any(mark in name for mark in ("/", "\\", "\0", ":")):
        raise error(f"{shown(root)} names {shown(name)!r}, which is not a plain name of a file in it")
    return root / name


def as_path(value: object, what: str) -> Path:
    """A path that a caller gives; anything else than a text or a path is refused by name."""
    if not isinstance(value, (str, os.PathLike)):
        raise ConfigError(f"{what} is {value!r}; it must be a path")
    return Path(os.fspath(value))


def check_own(path: Path, root: Path, error: type[RateError] = CheckpointError) -> None:
    """Refuse to write where anything from `root` (not included) down to `path` is a symbolic link."""
    for part in (path, *path.parents):
        if part == root:
            return
        if part.is_symlink():
            raise _is_link(part, error)


WRITING = {
    "wb": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "a+b": os.O_RDWR | os.O_CREAT | os.O_APPEND,
}


def open_to_write(path: Path, mode: str) -> IO[bytes]:
    """Open a file of ours, unbuffered ("wb" makes it anew, "ab" and "a+b" append); a symbolic link is refused."""
    if mode == "wb":
        with contextlib.suppress(FileNotFoundError):
            path.unlink()  # what a killed process left, or a link: removed, not followed
    try:
        handle = os.open(path, WRITING[mode] | NOFOLLOW | NONBLOCK | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as reason:
        if path.is_symlink():
            raise _is_link(path) from None
        raise reason
    return open(handle, mode, buffering=0)


def _is_link(path: Path, error: type[RateError] = CheckpointError) -> RateError:
    return error(f"{shown(path)} is a symbolic link; nothing is written through it: remove it")


def write_atomically(path: Path, content: bytes | str, sync: bool = True) -> None:
    """Write a file beside its place and move it there; `sync`: so that it survives a power cut."""
    temporary = path.with_name(f".{path.name}.tmp")
    payload = content.encode() if isinstance(content, str) else content
    try:
        with open_to_write(temporary, "wb") as file:
            write_all(file, payload)
            if sync:
                os.fsync(file.fileno())
        os.replace(temporary, path)  # a link in its place is replaced, not followed
    except BaseException as reason:
        if isinstance(reason, OSError) and reason.filename is None:
            reason.filename = str(path)  # a full disk does not say what it refused
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if sync:
        sync_directory(path.parent)


def check_writable(path: Path) -> None:
    """Find out, before the work, whether a file can be written or added to; its directory may still be missing."""
    if path.is_symlink():
        raise _is_link(path)
    if path.is_dir():
        raise CheckpointError(f"{shown(path)} is a directory; a file is to be written there")
    folder = next(parent for parent in path.absolute().parents if parent.exists() or parent.is_symlink())
    if not folder.is_dir():
        raise CheckpointError(f"{shown(folder)} is a file; give a directory")
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "permission denied")
        with tempfile.TemporaryFile(dir=folder, prefix=".rate-") as file:
            file.write(b"\n")
    except OSError as reason:
        raise CheckpointError(disk_message(path, reason)) from None


def write_all(file: IO[bytes], content: bytes) -> None:
    """Without a buffer a write may be short, and the next one says why."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def sync_directory(path: Path) -> None:
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


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a file; what is none (a pipe, a device) would never end, and `most` bytes are all that is read."""
    with open(os.open(path, os.O_RDONLY | NONBLOCK | getattr(os, "O_BINARY", 0)), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is not a file")
        if most is not None and about.st_size > most:
            raise ValueError(f"it has {about.st_size} bytes, and may have {most}")
        return file.read()


def read_json(path: Path, error: type[RateError] = CheckpointError) -> Any:
    """The content of a JSON file; a file that is missing or damaged is the user's to know of."""
    with reading(path, error):
        return json.loads(read_bytes(path, LARGEST_JSON))


def remove(path: Path) -> None:
    """Remove a directory or a file, if it is there; of a link, the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
