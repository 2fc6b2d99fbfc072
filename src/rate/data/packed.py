"""Columns of images on disk: each row compressed on its own (zlib), read through a memory map.

One row per piece is read at random without a cache. Several rows, or differences between them, save more, and cost
several times as much to read: benchmarks/speed has the figures.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rate.data.columns import ColumnFile
from rate.errors import DataError
from rate.types import Array

SUFFIX, ENDS = ".zlib", ".zlib-ends"
LEVEL = 1
LEAST_BYTES = 1024
"""Rows below this are stored as they are: a window of them is read faster than it is unpacked."""
LEAST_GAIN = 2.0


def is_worth_packing(rows: Array) -> bool:
    """Whether some rows of a column are large and become much smaller."""
    if rows.dtype != np.uint8 or rows.ndim < 3 or rows[:1].nbytes < LEAST_BYTES:
        return False
    some = rows[:: max(1, len(rows) // 16)]
    return some.nbytes >= LEAST_GAIN * sum(len(zlib.compress(row.tobytes(), LEVEL)) for row in some)


class PackedFile:
    """Grows row by row, as ColumnFile does; beside it lies a column of where each row ends."""

    def __init__(self, path: Path, dtype: np.dtype[Any], row_shape: tuple[int, ...]) -> None:
        self.dtype, self.row_shape = dtype, row_shape
        self._bytes = ColumnFile(path.with_suffix(SUFFIX), np.dtype(np.uint8), ())
        self._ends = ColumnFile(path.with_suffix(ENDS), np.dtype(np.int64), ())

    def append(self, rows: Array) -> None:
        pieces = [zlib.compress(np.ascontiguousarray(row, self.dtype).tobytes(), LEVEL) for row in rows]
        ends = self._bytes.rows + np.cumsum([len(piece) for piece in pieces])
        self._bytes.append(np.frombuffer(b"".join(pieces), np.uint8))
        self._ends.append(ends.astype(np.int64))

    def finish(self, sync: bool) -> None:
        self._bytes.finish(sync)
        self._ends.finish(sync)

    def abandon(self) -> None:
        self._bytes.abandon()
        self._ends.abandon()


class PackedColumn:
    """Read like an array of rows: by number, slice, or array of numbers."""

    def __init__(self, stored: Array, ends: Array, dtype: np.dtype[Any], row_shape: tuple[int, ...]) -> None:
        """`stored`: the bytes of all pieces."""
        if stored.dtype != np.uint8 or ends.dtype != np.int64 or stored.ndim != 1 or ends.ndim != 1:
            raise DataError("its packed rows are not bytes and their ends")
        self._starts, self._ends = np.concatenate([[0], ends[:-1]]), np.array(ends)
        if not len(ends) or ends[-1] != len(stored) or (self._ends <= self._starts).any():
            raise DataError("the ends of its packed rows do not agree with its bytes")
        self.stored, self.dtype, self.shape = stored, dtype, (len(ends), *row_shape)
        self._row_bytes = int(np.prod(row_shape)) * dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """On disk."""
        return int(self.stored.nbytes)

    def __getitem__(self, rows: Any) -> Array:
        chosen = np.arange(len(self))[rows]
        each, place = np.unique(chosen, return_inverse=True)  # stacks of frames ask for most rows several times
        values = np.empty((len(each), *self.shape[1:]), self.dtype)
        for number, row in enumerate(each.tolist()):
            values[number] = self._unpacked(row)
        found: Array = values[place.reshape(chosen.shape)]
        return found

    def _unpacked(self, row: int) -> Array:
        piece = self.stored[self._starts[row] : self._ends[row]].tobytes()
        try:
            # No more than a row: what a file holds must not decide how much memory is taken.
            raw = zlib.decompressobj().decompress(piece, self._row_bytes + 1)
        except zlib.error as error:
            raise DataError(f"row {row} cannot be unpacked ({error}); collect or convert the data again") from None
        if len(raw) != self._row_bytes:
            raise DataError(f"row {row} has another size than its space; collect or convert the data again")
        return np.frombuffer(raw, self.dtype).reshape(self.shape[1:])


class StackedColumn:
    """Rows of the last `depth` frames, the newest last; the first frame of an episode stands for those before it."""

    def __init__(self, frames: Any, starts: Array, depth: int) -> None:
        """`starts`: the first row of each episode."""
        self.frames, self.depth, self.dtype = frames, depth, frames.dtype
        self.stored = getattr(frames, "stored", frames)
        self.shape = (len(frames), depth, *frames.shape[1:])
        self._first = np.repeat(starts, np.diff(np.append(starts, len(frames))))
        self._back = np.arange(1 - depth, 1)

    def __len__(self) -> int:
        return len(self._first)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """On disk."""
        size: int = self.frames.nbytes
        return size

    def __getitem__(self, rows: Any) -> Array:
        chosen = np.arange(len(self))[rows]
        wanted = np.maximum(chosen[..., None] + self._back, self._first[chosen][..., None])
        found: Array = self.frames[wanted]
        return found


def stacked(frames: Any, starts: Array, depth: Any, space: gym.Space[Any]) -> StackedColumn:
    """The stacks that a card declares; DataError where its space has other ones."""
    if type(depth) is not int or tuple(space.shape or ())[:1] != (depth,):
        raise DataError(f"the card declares stacks of {str(depth)[:20]} frames where the space has {space.shape}")
    return StackedColumn(frames, starts, depth)


def newest_frames(name: str, rows: Array, depth: int) -> Array:
    """The frames that make up an episode of stacks; DataError where these are no stacks of its own frames."""
    frames = rows[:, -1]
    if not np.array_equal(StackedColumn(frames, np.zeros(1, np.int64), depth)[:], rows):
        raise DataError(f"{name} are not the last {depth} frames of their episode, the first one repeated at its start")
    return frames
