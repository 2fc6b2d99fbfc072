"""The place of a data set: it is made in a hidden directory beside it and moved there whole.

So a process may be killed at any time. The hidden directory is held by a lock that ends with its process; what a dead
one left is swept by the next.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rate.data.columns import disk_errors
from rate.data.store import is_store
from rate.errors import DataError
from rate.system.files import check_own, shown
from rate.system.lock import held

LOCK = ".lock"
WAIT = 0.2
"""Seconds between two looks at what another process is doing."""


@contextmanager
def made_aside(path: Path) -> Iterator[Path]:
    """A free place to write a directory at; what stands there in the end is moved to `path`."""
    place = hidden(path, "making")
    sweep(place)
    check_free(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with hold(place):
        try:
            check_free(path)
            empty(place)
            yield place / path.name
            move(place / path.name, path)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def hidden(path: Path, kind: str) -> Path:
    """The directory beside a place in which it is made."""
    return path.parent / f".{path.name}.{kind}"


@contextmanager
def hold(place: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Be the only process that works in a hidden directory, which is made; wait while another one does."""
    with ExitStack() as stack:
        while not _enter(place, stack):
            on_wait()
            time.sleep(WAIT)
        yield


def _enter(place: Path, stack: ExitStack) -> bool:
    with disk_errors(place):
        check_own(place, place.parent, DataError)
        place.mkdir(exist_ok=True)
        try:
            return stack.enter_context(held(place / LOCK))
        except FileNotFoundError:  # removed by the process that was done with it
            return False


def sweep(place: Path) -> None:
    """Remove a hidden directory that a process left when it was killed; one that is at work is left alone."""
    if place.is_symlink() or not place.is_dir():
        return
    with ExitStack() as stack:
        if _enter(place, stack):
            shutil.rmtree(place, ignore_errors=True)


def empty(place: Path) -> None:
    """Remove what a process that was killed left in a hidden directory that this one holds."""
    for left in place.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        elif left.name != LOCK:
            left.unlink()


def check_free(path: Path) -> None:
    """Refuse a place that holds anything."""
    check_own(path, path.parent, DataError)
    if is_store(path):
        raise DataError(f"{shown(path)} already holds a data set; choose another directory or delete it")
    with disk_errors(path, "read"):
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise DataError(f"{shown(path)} is in the way and holds no whole data set; delete it and start again")


def move(made: Path, path: Path) -> None:
    """To a place that is free, or is taken by an empty directory."""
    check_free(path)  # another process may have been faster
    with disk_errors(path):
        if path.is_dir():
            path.rmdir()  # else Windows would not move there
        os.replace(made, path)
