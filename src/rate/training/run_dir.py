"""The run directory: configuration, environment, metrics, episode records, checkpoints.

Lines are appended whole; on resume, what was logged after the checkpoint is cut off so that nothing stands twice.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from rate import plugins
from rate.errors import CheckpointError, RateError
from rate.serial import to_dict
from rate.system.files import (
    FULL,
    disk_message,
    open_to_write,
    read_bytes,
    read_json,
    reading,
    write_all,
    write_atomically,
    write_json,
)
from rate.system.lock import held
from rate.types import EpisodeRecord

BLOCK = 1 << 16


class RunDir:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.environment, self.meta = (path / f"{name}.json" for name in ("config", "environment", "meta"))
        self.metrics = path / "metrics.jsonl"
        self.episodes = path / "eval.jsonl"
        self.evaluations = path / "evaluations.jsonl"
        self.first_observations = path / "first_observations.json"
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"

    @classmethod
    def create(cls, path: Path, config: Any, environment: Mapping[str, Any], meta: Mapping[str, Any]) -> RunDir:
        """Make a new run; a directory that holds anything is left alone."""
        run = cls(path)
        run.check_free()
        try:
            path.mkdir(parents=True, exist_ok=True)
            # First, and at once: a run that is killed here can be resumed, or has left an empty directory.
            write_json(run.config, config)
        except OSError as reason:
            raise disk_error(path, reason) from None
        run.describe(environment, meta)
        return run

    def check_free(self) -> None:
        """Refuse a place that is taken; hidden files do not take it."""
        path = self.path
        if self.config.exists():
            raise CheckpointError(
                f"{path} exists already; continue it with --resume (in Python: resume=True) or choose another --out"
            )
        if path.exists() and not path.is_dir():
            raise CheckpointError(f"{path} is a file; choose another --out")
        if path.is_dir() and any(not inside.name.startswith(".") for inside in path.iterdir()):
            raise CheckpointError(f"{path} is not empty and not a run directory; choose another --out")

    def describe(self, environment: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
        """Write down once how the run was started."""
        try:
            for file, value in ((self.environment, environment), (self.meta, meta)):
                if not file.exists():
                    write_json(file, value)
        except OSError as reason:
            raise disk_error(self.path, reason) from None

    def resume_command(self, options: Sequence[str] = ()) -> str:
        """What the user types to go on with this run, with the options that it needs."""
        return shlex.join(["rate", "train", "--out", str(self.path), "--resume", *options, *plugins.options()])

    @classmethod
    def open(cls, path: Path) -> RunDir:
        run = cls(path)
        if not path.is_dir():
            raise CheckpointError(
                f"{path} is not a run directory: it {'is a file' if path.exists() else 'does not exist'}"
            )
        if not run.config.exists():
            raise CheckpointError(f"{path} is not a run directory: it holds no config.json")
        return run

    def read_config(self) -> Any:
        return read_json(self.config)

    def log(self, record: Mapping[str, Any]) -> None:
        _append(self.metrics, [record])

    def add_episodes(self, records: Iterable[EpisodeRecord], evaluation: Mapping[str, Any]) -> None:
        _append(self.episodes, [untagged(record) for record in records])
        _append(self.evaluations, [evaluation])

    def read_evaluations(self) -> list[dict[str, Any]]:
        """What was evaluated, with its cost; half a line of a killed process does not count."""
        if not self.evaluations.exists():
            return []
        with reading(self.evaluations):
            lines = read_bytes(self.evaluations).decode(errors="replace").splitlines(keepends=True)
        return [record for line in lines if line.endswith("\n") and "episodes" in (record := _record(line))]

    def cut_metrics(self, step: int) -> None:
        """Forget what was logged after `step`, and a line that a killed process left half-written."""
        if self.metrics.exists():
            with reading(self.metrics):
                text = read_bytes(self.metrics).decode(errors="replace")
            kept = "".join(f"{line}\n" for line in text.splitlines() if _logged_step(line) <= step)
            if kept != text:
                write_atomically(self.metrics, kept)


def untagged(record: EpisodeRecord) -> dict[str, Any]:
    data: dict[str, Any] = to_dict(record)
    del data["type"]
    return data


def _record(line: str) -> dict[str, Any]:
    """The object that a line holds; an empty one if it is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _logged_step(line: str) -> float:
    try:
        return float(_record(line)["step"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return float("inf")


def _append(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    try:
        with open_to_write(path, "a+b") as file:
            whole = _whole_lines(file)
            file.truncate(whole)
            try:
                write_all(file, text.encode())
            except OSError:
                file.truncate(whole)
                raise
    except OSError as reason:
        raise disk_error(path, reason) from None


def _whole_lines(file: IO[bytes]) -> int:
    """Where the last whole line ends: a process that was killed, or a full disk, may have left half of one."""
    end = file.seek(0, os.SEEK_END)
    start = end
    while start:
        start = max(0, start - BLOCK)
        file.seek(start)
        newline = file.read(min(BLOCK, end - start)).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
    return 0


def disk_error(path: Path, reason: OSError) -> RateError:
    """One line for what a disk can refuse."""
    more = "; a run that has begun goes on with --resume" if reason.errno in FULL else ""
    return CheckpointError(disk_message(path, reason) + more)


class LockedError(CheckpointError):
    """Another process works in the run directory."""


@contextmanager
def locked(run: Path, name: str = ".lock") -> Iterator[None]:
    """Hold a run directory; LockedError if another process does. Locks of other names do not exclude each other."""
    with ExitStack() as stack:
        try:
            ours = stack.enter_context(held(run / name))
        except OSError as reason:
            raise disk_error(run, reason) from None
        if not ours:
            raise LockedError(f"another process trains in {run}; wait for it or choose another --out")
        yield
