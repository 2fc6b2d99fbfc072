"""Runs that go from hand to hand: pushed to and pulled from a directory or the Hugging Face Hub.

What is pushed is a run's own files and a list of them with their SHA-256. What is pulled is exactly what that list
names, and only files that a run has: a link, another file or a difference refuses the whole. Nothing is loaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rate.errors import CheckpointError
from rate.system.files import NOFOLLOW, NONBLOCK, read_json, reading, remove, shown, write_json
from rate.training.checkpoint import CARD, MARKS, TRAINING, WEIGHTS, resolve_checkpoint
from rate.training.run_dir import RunDir, disk_error, locked

MANIFEST, FORMAT, VERSION = "rate-run.json", "rate-run", 1
TOP = ("config", "environment", "meta", "first_observations", "held_out")
LOGS = ("metrics", "eval", "evaluations")
NAMES = "|".join(
    [
        r"README\.md",
        *(rf"{name}\.json" for name in TOP),
        *(rf"{name}\.jsonl" for name in LOGS),
        *(rf"checkpoints/{mark}" for mark in MARKS),
        *(rf"checkpoints/step_\d{{1,18}}/{re.escape(name)}" for name in (WEIGHTS, TRAINING, CARD)),
    ]
)
OF_A_RUN = re.compile(NAMES, flags=re.ASCII)
"""The files of a run, by their paths in it; figures, events and what else lies there stay where they are."""
BLOCK = 1 << 20
MOST_FILES, DEEPEST = 100, 8


def push_folder(run: Path, to: Path) -> list[str]:
    """Copy a run into a directory, which is new, empty, or an earlier push; returns what stayed behind."""
    RunDir.open(run)
    if to.exists() and (not to.is_dir() or (any(to.iterdir()) and not (to / MANIFEST).is_file())):
        raise CheckpointError(f"{shown(to)} is not empty and not a pushed run; choose another place")
    if to.resolve() == run.resolve():
        raise CheckpointError(f"{shown(to)} is the run itself; choose another place")
    with locked(run):
        resolve_checkpoint(RunDir(run).checkpoints, "last")  # a run without one is nothing to share
        found = sorted(_files(run))
        chosen = [name for name in found if OF_A_RUN.fullmatch(name)]
        with _made(to) as place:
            listed = {name: _copy(run, place, name) for name in chosen}
            write_json(place / MANIFEST, {"format": FORMAT, "version": VERSION, "files": listed})
    return [name for name in found if name not in listed]


def pull_folder(source: Path, out: Path) -> Path:
    """Copy a pushed run to the directory `out`, which must be free; all of it is checked before it is there."""
    RunDir(out).check_free()
    if not source.is_dir():
        raise CheckpointError(f"{shown(source)} is not a directory")
    files = _manifest(source)
    foreign = sorted(set(_files(source)) - files.keys() - {MANIFEST})
    if foreign:
        raise CheckpointError(f"{shown(source)} holds {shown(foreign[0])!r}, which {MANIFEST} does not list")
    with _made(out) as place:
        for name, said in files.items():
            if _copy(source, place, name, most=said["size"]) != said:
                raise CheckpointError(f"{shown(source / name)} is damaged (its checksum differs from {MANIFEST})")
    return out


def _manifest(source: Path) -> dict[str, dict[str, Any]]:
    """The list of a pushed run, every entry of it possible."""
    path = source / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise CheckpointError(f"{shown(source)} is not a pushed run: it holds no {MANIFEST}; make one with: rate push")
    found = read_json(path)
    with reading(path):
        if found["format"] != FORMAT or found["version"] != VERSION:
            raise ValueError(f"it is not of format {FORMAT}, version {VERSION}")
        files = found["files"]
        if not isinstance(files, dict) or not 0 < len(files) <= MOST_FILES or "config.json" not in files:
            raise ValueError("it does not list the files of a run")
        for name, said in files.items():
            if not OF_A_RUN.fullmatch(name):
                raise ValueError(f"it lists {shown(name)!r}, which is not a file of a run")
            if set(said) != {"size", "sha256"} or type(said["size"]) is not int or not isinstance(said["sha256"], str):
                raise ValueError(f"it does not tell size and sha256 of {name}")
        return files


def _files(root: Path, depth: int = DEEPEST) -> Iterator[str]:
    """The files below a directory; hidden ones do not count, and a link or a device refuses the whole."""
    if not depth:
        raise CheckpointError(f"{shown(root)} is nested deeper than a run")
    for entry in os.scandir(root):
        if entry.name.startswith("."):
            continue
        if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
            raise CheckpointError(f"{shown(entry.path)} is a link or no file; a run that is shared holds plain files")
        if entry.is_dir():
            yield from (f"{entry.name}/{name}" for name in _files(Path(entry.path), depth - 1))
        else:
            yield entry.name


def _copy(source: Path, to: Path, name: str, most: int | None = None) -> dict[str, Any]:
    """Copy one file, at most so many bytes of it; its size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    (to / name).parent.mkdir(parents=True, exist_ok=True)
    with reading(source / name), _opened(source / name) as read, open(to / name, "xb") as written:
        while block := read.read(BLOCK):
            size += len(block)
            if most is not None and size > most:
                raise ValueError(f"it has more than the {most} bytes that {MANIFEST} tells")
            digest.update(block)
            written.write(block)
        os.fsync(written.fileno())
    return {"size": size, "sha256": digest.hexdigest()}


def _opened(path: Path) -> IO[bytes]:
    """A file to read: a link that has just taken its place is refused."""
    return open(os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | getattr(os, "O_BINARY", 0)), "rb")


class _made:
    """A directory that is made beside its place and moved there when all of it is good."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __enter__(self) -> Path:
        try:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self.made = Path(tempfile.mkdtemp(dir=self.place.parent, prefix=".rate-"))
        except OSError as reason:
            raise disk_error(self.place, reason) from None
        return self.made

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        old = self.made.with_name(f"{self.made.name}.old")
        try:
            if kind is None:
                self.made.chmod(0o755)
                if self.place.exists():
                    os.replace(self.place, old)
                os.replace(self.made, self.place)
        except OSError as reason:
            raise disk_error(self.place, reason) from None
        finally:
            remove(self.made)
            remove(old)
