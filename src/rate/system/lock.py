"""A lock between processes: the system's, on an empty hidden file. It ends with its process, however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rate.system.files import open_to_write


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold the lock on a file, which is made; false if another process holds it."""
    with open_to_write(path, "ab") as file:
        # Its holder may have removed it since it was opened: such a file excludes no other process.
        yield _take(file) and _in_place(file, path)


def _in_place(file: IO[bytes], path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())


def _take(file: IO[bytes]) -> bool:
    """Take the lock, unless it is taken; where there are no locks (Windows, some network disks), go without."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
