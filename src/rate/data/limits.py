"""What a foreign file may ask for. Declared sizes are compared with stored ones before any memory is taken."""

from __future__ import annotations

import os

from rate.errors import DataError
from rate.system.files import shown

PACKED = 1100
"""Times that packed bytes may grow: deflate, which NPZ and HDF5 use, packs at most 1,032 into one."""
SLACK = 1 << 26
"""Bytes that anything may declare, whatever it stores."""
ROW = 1 << 26
"""Bytes that one row of a column may have: a frame of 16 million numbers of 32 bits."""

CLASSES = 1 << 20
"""Classes that a discrete space may have."""


def admit(name: str, declared: int, stored: int) -> None:
    """Refuse what declares far more bytes than are stored: a few bytes that would fill memory or the disk."""
    if declared > SLACK + PACKED * stored:
        raise DataError(f"{shown(name)} declares {declared:,} bytes and stores {stored:,}; it is not read")


def admit_in_memory(name: str, size: int) -> None:
    """Refuse what is read at once and is larger than the memory of this machine."""
    if size > memory():
        raise DataError(f"{shown(name)} needs {size:,} bytes of memory at once, and there are {memory():,}")


def check_row(size: int) -> None:
    """Refuse a space whose values alone would fill memory."""
    if size > ROW:
        raise DataError(f"one value of a space would take {size:,} bytes; at most {ROW:,} are stored")


def check_classes(count: int) -> None:
    """Refuse a space for which no model could be built."""
    if not 0 < count <= CLASSES:
        raise DataError(
            f"a space has {count:,} classes; a model has weights for each, and at most {CLASSES:,} are stored"
        )


def memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows: what does not fit is refused when it is asked for
        return 1 << 62
