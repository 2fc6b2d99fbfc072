"""A lock between processes: the system's, on an empty hidden file. It ends with its process, however that ends.

It reaches other machines where their common disk passes locks on (NFS does by default); a disk without any is refused.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rate.errors import CheckpointError
from rate.system.files import open_to_write, shown

WITHOUT = "RATE_LOCKS"
"""The variable that, as `off`, says: there is one process at a time, take no locks."""
TAKEN = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES}


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold the lock on a file, which is made; false if another process holds it."""
    with open_to_write(path, "ab") as file:
        # Its holder may have removed it since it was opened: such a file excludes no other process.
        yield _take(file, path) and _in_place(file, path)


def _in_place(file: IO[bytes], path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())


def _take(file: IO[bytes], path: Path) -> bool:
    """Take the lock, unless it is taken; Windows goes without."""
    try:
        import fcntl
    except ImportError:
        return True
    if os.environ.get(WITHOUT) == "off":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as reason:
        if reason.errno in TAKEN:
            return False
        why = f"the disk of {shown(path.parent)} has no locks ({reason.strerror})"
        raise CheckpointError(
            f"{why}; use another, mount it with them, or set {WITHOUT}=off and see to it that one process writes there"
        ) from None
    return True
