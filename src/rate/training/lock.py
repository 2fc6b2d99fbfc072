"""One process at a time trains in a run directory.

The lock is the system's, on an empty hidden file: it ends with its process, however that ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rate.errors import CheckpointError
from rate.files import open_to_write
from rate.training.run_dir import disk_error


class LockedError(CheckpointError):
    """Another process works in the run directory."""


@contextmanager
def locked(run: Path, name: str = ".lock") -> Iterator[None]:
    """Hold a run directory; LockedError if another process does. Locks of other names do not exclude each other."""
    try:
        file = open_to_write(run / name, "ab")
    except OSError as reason:
        raise disk_error(run, reason) from None
    with file:
        # Whoever held it may have removed it since it was opened: that one keeps nobody out.
        if not _take(file) or not _in_place(file, run / name):
            raise LockedError(f"another process trains in {run}; wait for it or choose another --out")
        yield


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
