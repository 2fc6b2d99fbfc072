"""Trees of arrays as named columns, and `.npy` files that grow row by row.

A tree {"a": x, "b": (y, z)} under the prefix `p` has the columns `p.a`, `p.b.0` and `p.b.1`.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gymnasium as gym
import numpy as np

from rate.errors import DataError
from rate.spaces import Key, leaves, map_space
from rate.system.files import disk_message
from rate.types import Array, Tree

Form = Any
"""The form of a tree as JSON: null for a leaf, {"dict": [[key, form], ...]} or {"tuple": [form, ...]}."""

CRC_CHUNK = 1 << 22
CHUNK_BYTES = 1 << 23


def tree_form(tree: Tree) -> Form:
    if isinstance(tree, Mapping):
        return {"dict": [[key, tree_form(part)] for key, part in tree.items()]}
    if isinstance(tree, (tuple, list)):
        return {"tuple": [tree_form(part) for part in tree]}
    return None


def space_form(space: gym.Space[Any]) -> Form:
    """The form that the observations of a space have."""
    return tree_form(map_space(lambda leaf: None, space))


def space_columns(space: gym.Space[Any], prefix: str) -> dict[str, gym.Space[Any]]:
    """Column name -> the space of its rows."""
    return {".".join([prefix, *map(escaped, path)]): leaf for path, leaf in leaves(space)}


def escaped(key: Key) -> str:
    """Safe as a part of a file name; the dot is the separator, so it goes too."""
    return quote(str(key), safe=" ").replace(".", "%2E")


def pack(tree: Tree, form: Form, prefix: str) -> dict[str, Any]:
    """Column name -> leaf. KeyError, TypeError or ValueError where the tree has another form."""
    if form is None:
        return {prefix: tree}
    columns: dict[str, Any] = {}
    if "dict" in form:
        if set(tree) != {key for key, _ in form["dict"]}:
            raise ValueError("other keys")
        for key, part in form["dict"]:
            columns.update(pack(tree[key], part, f"{prefix}.{escaped(key)}"))
        return columns
    for index, (leaf, part) in enumerate(zip(tree, form["tuple"], strict=True)):
        columns.update(pack(leaf, part, f"{prefix}.{index}"))
    return columns


def unpack(form: Form, prefix: str, column: Callable[[str], Any]) -> Tree:
    """The tree whose leaves `column` gives by name."""
    if form is None:
        return column(prefix)
    if "dict" in form:
        return {key: unpack(part, f"{prefix}.{escaped(key)}", column) for key, part in form["dict"]}
    return tuple(unpack(part, f"{prefix}.{index}", column) for index, part in enumerate(form["tuple"]))


def map_of(column: Array) -> mmap.mmap | None:
    """The memory map that an array is a view of."""
    base: Any = getattr(column, "stored", column)
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def release(maps: Iterable[mmap.mmap | None]) -> None:
    """Give the pages of memory maps back, where the system can: what was read once no longer counts as used memory."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for pages in maps:
            if pages is not None:
                pages.madvise(mmap.MADV_DONTNEED)


def chunks(column: Array) -> Iterator[Array]:
    """A column piece by piece; no more than a piece of it is in memory."""
    rows = max(1, CHUNK_BYTES // max(1, column[:1].nbytes))
    for start in range(0, len(column), rows):
        yield column[start : start + rows]
        if len(column) > rows:
            release([map_of(column)])


class ColumnFile:
    """A `.npy` file of unknown length; NumPy pads its header so that the length can be filled in at the end."""

    def __init__(self, path: Path, dtype: np.dtype[Any], row_shape: tuple[int, ...]) -> None:
        self.dtype, self.row_shape, self.rows = dtype, row_shape, 0
        self._file = path.open("wb")
        self._write_header()
        self._header_size = self._file.tell()

    def _write_header(self) -> None:
        descr = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.rows, *self.row_shape)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, rows: Array) -> None:
        self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).tobytes())
        self.rows += len(rows)

    def finish(self, sync: bool) -> None:
        self._file.seek(0)
        self._write_header()
        if self._file.tell() != self._header_size:
            raise RuntimeError("this version of NumPy writes .npy headers of varying size")
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        # Closing flushes, which fails again on a full disk: the file is about to be deleted anyway.
        with suppress(OSError):
            self._file.close()


def crc32(path: Path) -> str:
    """Checksum of a file as eight hexadecimal digits."""
    value = 0
    with path.open("rb") as file:
        while chunk := file.read(CRC_CHUNK):
            value = zlib.crc32(chunk, value)
    return f"{value:08x}"


@contextmanager
def disk_errors(path: Path, doing: str = "write") -> Iterator[None]:
    """Turn what the operating system refuses into one line that says what to do."""
    try:
        yield
    except OSError as error:
        raise DataError(disk_message(path, error, doing)) from error
