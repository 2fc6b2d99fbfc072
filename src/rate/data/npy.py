"""The `.npy` format: its header is compared with the bytes that follow before any memory is taken.

Arrays of Python objects are pickles, and never read.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from rate.types import Array


class Header(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int
    """Where the values begin."""


def read_header(stream: IO[bytes], total: int) -> Header:
    """The header of an array that takes `total` bytes with it; ValueError if these are others than it declares."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"version {version} of the .npy format is not read")
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if any(size < 0 for size in shape):
        raise ValueError(f"its shape is {shape}")
    start, declared = stream.tell(), math.prod(shape) * dtype.itemsize
    if start + declared != total:
        raise ValueError(f"its header declares {declared:,} bytes where {total - start:,} follow")
    return Header(shape, fortran, dtype, start)


def map_file(path: Path) -> Array:
    """The array of a file, read where it stands."""
    with path.open("rb") as stream:
        header = read_header(stream, path.stat().st_size)
    pages = np.memmap(path, header.dtype, "r", header.start, header.shape, "F" if header.fortran else "C")
    return np.asarray(pages)  # a plain view of the map: indexing np.memmap itself is several times slower
