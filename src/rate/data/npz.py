"""NPZ files: members are unpacked one by one when they are needed, after their declared size was checked."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rate.data.limits import admit, admit_in_memory
from rate.data.npy import read_header
from rate.errors import DataError
from rate.system.files import reading, shown
from rate.types import Array


@contextmanager
def open_npz(path: Path, needed: Callable[[str], bool]) -> Iterator[tuple[dict[str, Array], list[str]]]:
    """The arrays that are needed by name, and the names of the others, which are not unpacked."""
    with reading(path, DataError):
        if not zipfile.is_zipfile(path):
            raise DataError(f"{shown(path)} is not a readable .npz file: it is no zip archive")
        with zipfile.ZipFile(path) as file:
            members = {info.filename.removesuffix(".npy"): info for info in file.infolist()}
            chosen = {name: info for name, info in members.items() if needed(name)}
            admit_in_memory(str(path), sum(info.file_size for info in chosen.values()))
            columns = {name: _array(file, name, info) for name, info in chosen.items()}
    yield columns, [name for name in members if name not in chosen]


def _array(file: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Array:
    admit(f"{shown(file.filename)}: {name}", info.file_size, info.compress_size)
    with file.open(info) as stream, reading(f"{shown(file.filename)}: {name}", DataError):
        header = read_header(stream, info.file_size)
        content = stream.read()
    values = np.frombuffer(content, header.dtype).reshape(header.shape, order="F" if header.fortran else "C")
    return values
