"""What is fuzzed: a file of a directory, how often, and the code that reads it. A new format is a new row.

`make` gives a directory that may be damaged at will; `read` reads it as a command does. `seal` makes checksums agree
again, as somebody who damages on purpose would; every second mutation is sealed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Artefact:
    """One file, and who reads it."""

    name: str
    make: Callable[[Path], None]
    """make(directory): a whole artefact in an empty directory; called once."""
    file: Callable[[Path], Path]
    """The file of it that is damaged."""
    read: tuple[Callable[[Path], object], ...]
    """Each reads the directory; the result does not matter."""
    count: int
    seal: Callable[[Path], None] | None = None


ARTEFACTS: list[Artefact] = []
"""Filled by the modules that are named in `test_fuzz.py`."""
