"""HDF5 files of others: only what stands in the file itself is read, and no more than it stores.

Links (soft and external), external and virtual storage are refused: they name other places, which a file from
somebody else must not choose. A group that contains itself is refused too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rate.data.limits import admit, admit_in_memory
from rate.errors import DataError, MissingExtraError
from rate.system.files import reading, shown
from rate.types import Array, Tree

CACHE = 1 << 26
"""Chunks are packed; with this many bytes of them at hand, few are unpacked twice."""


def h5py_module() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "minari") from error
    return h5py


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """The root group of a file."""
    h5py = h5py_module()
    with reading(path, DataError):
        file = h5py.File(path, "r", rdcc_nbytes=CACHE)
    try:
        yield file
    finally:
        file.close()


class Column:
    """The rows of a data set in a file, read by slices."""

    def __init__(self, data: Any, name: str) -> None:
        self._data, self._name = data, name
        self.shape: tuple[int, ...] = data.shape
        self.dtype: np.dtype[Any] = data.dtype
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Array:
        with reading(self._name, DataError):
            if self.dtype.hasobject:
                return self._texts(rows)
            count = len(range(*rows.indices(len(self)))) if self.ndim else 1
            admit_in_memory(self._name, count * math.prod(self.shape[1:]) * self.dtype.itemsize)
            return np.asarray(self._data[rows] if self.ndim else self._data[()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        values = self[:]
        return values if dtype is None else values.astype(dtype)

    def _texts(self, rows: slice) -> Array:
        """Values of any length, one by one: many may share a long one, so their sum is not known before."""
        if self.ndim != 1:
            raise DataError(f"{shown(self._name)} holds values of type {self.dtype} in {self.ndim} dimensions")
        found, size = [], 0
        for index in range(*rows.indices(len(self))):
            found.append(self._data[index])
            size += len(found[-1]) if isinstance(found[-1], (bytes, str, np.ndarray)) else 8
            admit_in_memory(self._name, 4 * size)
        values = np.empty(len(found), object)
        values[:] = found
        return values


def read_tree(group: Any, key: str, where: str, seen: frozenset[int] = frozenset()) -> Tree:
    """A data set of a group as a column, or a group in it as a dict of them."""
    h5py, name = h5py_module(), f"{where}: {key}"
    link = group.get(key, getlink=True)
    if link is None:
        raise DataError(f"{shown(where)} has no {shown(key)!r}")
    if not isinstance(link, h5py.HardLink):
        raise DataError(f"{shown(name)} is a link to another place; only what stands in the file itself is read")
    item = group[key]
    if isinstance(item, h5py.Dataset):
        return _column(item, name)
    if not isinstance(item, h5py.Group):
        raise DataError(f"{shown(name)} is neither an array nor a group of them")
    place = h5py.h5o.get_info(item.id).addr
    if place in seen:
        raise DataError(f"{shown(name)} is a group that contains itself")
    return {part: read_tree(item, part, name, seen | {place}) for part in item}


def _column(item: Any, name: str) -> Column:
    if item.external or item.is_virtual:
        raise DataError(f"{shown(name)} is stored in other files; only what stands in the file itself is read")
    if item.shape is None:
        raise DataError(f"{shown(name)} is empty")
    stored, row = item.id.get_storage_size(), item.dtype.itemsize
    for shape in (item.shape, item.chunks or ()):
        admit(name, math.prod(shape) * row, stored)
    return Column(item, name)
