"""The allocator of a process that trains: memory that one step frees is kept for the next.

glibc gives large blocks back to the system and asks for them again, and the system clears every page anew. With images
that takes longer than the training itself.
"""

from __future__ import annotations

import contextlib
import ctypes

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4
"""Options of mallopt, as malloc.h numbers them."""
KEPT, ASKED = 2**31 - 1, 64 * 2**20
"""Bytes at the end of the heap that are not given back, and that are asked for at once."""


def keep_memory() -> bool:
    """Tell glibc to keep freed memory; False where another library allocates, which is left alone."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        taken = [mallopt(*option) for option in ((MMAP_MAX, 0), (TRIM_THRESHOLD, KEPT), (TOP_PAD, ASKED))]
        return taken == [1, 1, 1]
    return False
