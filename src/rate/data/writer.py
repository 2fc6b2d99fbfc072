"""Writes a data set: shards of packed columns, each complete or absent, and the card last.

A data set without its card does not exist, so an interrupted writer never leaves something that can be opened.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from rate.data.checks import check_layout, columns_of, leaf_spaces, row_layout
from rate.data.columns import ColumnFile, Form, crc32, disk_errors, tree_form
from rate.data.packed import PackedFile, is_worth_packing, newest_frames
from rate.data.returns import suffix_sums
from rate.data.space_json import spaces_to_json
from rate.errors import DataError
from rate.system.files import sync_directory, write_json
from rate.types import Array, Spaces, Trajectory

FORMAT = "rate-trajectories"
VERSION = 1
CARD = "card.json"
SHARD_STEPS = 1_000_000
SHARD_BYTES = 1 << 32


class ShardFiles:
    """The open files of the shard that is being written, in a hidden directory beside its final place."""

    def __init__(self, root: Path, number: int) -> None:
        self.name = f"shard-{number:05d}"
        self.final = root / self.name
        self.hidden = root / f".{self.name}.tmp"
        # Exclusive: of two writers in one directory the second fails here and does no harm.
        self.hidden.mkdir(exist_ok=False)
        self.columns: dict[str, ColumnFile | PackedFile] = {}
        self.offsets, self.seeds, self.bytes = [0], list[int](), 0
        self.moved = False

    def append(self, columns: Mapping[str, Array], seed: int, packed: Collection[str] = ()) -> None:
        for name, rows in columns.items():
            if name not in self.columns:
                kind = PackedFile if name in packed else ColumnFile
                self.columns[name] = kind(self.hidden / f"{name}.npy", rows.dtype, rows.shape[1:])
            self.columns[name].append(rows)
            self.bytes += rows.nbytes
        self.offsets.append(self.offsets[-1] + len(columns["rewards"]))
        self.seeds.append(seed)

    def commit(self, sync: bool) -> dict[str, Any]:
        """Move the shard to its place; returns its entry of the card."""
        for name, values in (("offsets", self.offsets), ("seeds", self.seeds)):
            self.columns[name] = ColumnFile(self.hidden / f"{name}.npy", np.dtype(np.int64), ())
            self.columns[name].append(np.array(values, dtype=np.int64))
        for column in self.columns.values():
            column.finish(sync)
        paths = sorted(self.hidden.iterdir())
        files = {path.name: {"size": path.stat().st_size, "crc32": crc32(path)} for path in paths}
        self.hidden.rename(self.final)
        self.moved = True
        if sync:
            sync_directory(self.final.parent)
        return {"name": self.name, "episodes": len(self.seeds), "steps": self.offsets[-1], "files": files}

    def abandon(self) -> None:
        for column in self.columns.values():
            column.abandon()
        shutil.rmtree(self.final if self.moved else self.hidden, ignore_errors=True)


class StoreWriter:
    """Use as a context manager and `add` trajectories; leaving the block without an exception finishes the data set."""

    def __init__(
        self,
        path: Path | str,
        *,
        spaces: Spaces,
        environment: str,
        options: Mapping[str, Any],
        generator: str,
        shard_steps: int = SHARD_STEPS,
        shard_bytes: int = SHARD_BYTES,
        sync: bool = True,
        pack: bool = True,
        frame_stack: Mapping[str, int] | None = None,
    ) -> None:
        """Without `sync` nothing waits for the disk: it survives a kill, but a power cut may leave it damaged.

        `pack`: compress columns of images that become much smaller. `frame_stack`: columns whose first axis holds the
        last frames, as {"observations": 4}; each frame is stored once.
        """
        if not isinstance(spaces, Spaces):
            raise DataError(f"spaces must be a rate.types.Spaces, got {type(spaces).__name__}")
        if shard_steps < 1 or shard_bytes < 1:
            raise DataError(f"a shard must hold something, got {shard_steps} steps and {shard_bytes} bytes")
        self.path, self._sync, self._pack = Path(path), sync, pack
        self._stacks, self._packed = dict(frame_stack or {}), set[str]()
        self.spaces = spaces
        self._head = _json_values({"environment": environment, "options": dict(options), "generator": generator})
        self._limits = (shard_steps, shard_bytes)
        self._layout = {name: row_layout(space) for name, space in leaf_spaces(spaces).items()}
        for name, depth in self._stacks.items():
            if name not in self._layout or self._layout[name][1][:1] != (depth,):
                raise DataError(f"frame_stack names {name!r}: {depth}, but that is not the first axis of such a column")
        self._infos: Form = {"dict": []}
        self.dropped_infos = set[str]()
        """Names of infos that the source holds and that were left out; added by what leaves them out."""
        self._lengths, self._returns, self._seeds = list[int](), list[float](), list[int]()
        self._done: list[dict[str, Any]] = []
        self._shard: ShardFiles | None = None
        self._made_directory = False

    def __enter__(self) -> StoreWriter:
        with disk_errors(self.path):
            self._made_directory = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            if (self.path / CARD).exists():
                raise DataError(f"{self.path} already holds a data set; choose another directory or delete it")
            if any(self.path.glob("*shard-*")):
                raise DataError(f"{self.path} holds an unfinished data set; if nothing is writing it, delete it")
            self._shard = ShardFiles(self.path, 0)
        return self

    def add(self, trajectory: Trajectory) -> None:
        """Append one episode."""
        if not isinstance(trajectory, Trajectory):
            raise DataError(f"a rate.types.Trajectory is expected, got {type(trajectory).__name__}")
        if not self._lengths:
            self._infos = tree_form(trajectory.infos)
        try:
            columns = columns_of(trajectory, self.spaces, self._infos)
            self._pin_layout(columns)
            total = float(suffix_sums(trajectory.rewards)[0])
            if not math.isfinite(total):
                raise DataError(f"the sum of its rewards is {total}; remove or repair the episode")
        except DataError as error:
            raise DataError(f"episode {len(self._lengths)} cannot be stored: {error}") from error
        columns = {name: rows.astype(self._layout[name][0], copy=False) for name, rows in columns.items()}
        columns |= {name: newest_frames(name, columns[name], depth) for name, depth in self._stacks.items()}
        if not self._lengths and self._pack:
            self._packed = {name for name in self._layout if name in columns and is_worth_packing(columns[name])}
        with disk_errors(self.path):
            self._open_shard().append(columns, trajectory.seed, self._packed)
        self._lengths.append(len(trajectory))
        self._returns.append(total)
        self._seeds.append(trajectory.seed)

    def _pin_layout(self, columns: Mapping[str, Array]) -> None:
        """Columns that no space describes keep the dtype and the shape of the first episode."""
        for name, rows in columns.items():
            check_layout(name, rows, len(rows), *self._layout.setdefault(name, (rows.dtype, rows.shape[1:])))

    def _open_shard(self) -> ShardFiles:
        if self._shard is None:
            raise DataError("use the writer as a context manager: with StoreWriter(...) as writer")
        if self._shard.offsets[-1] >= self._limits[0] or self._shard.bytes >= self._limits[1]:
            self._done.append(self._shard.commit(self._sync))
            self._shard = ShardFiles(self.path, len(self._done))
        return self._shard

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._undo()
            return
        try:
            self._finish()
        except BaseException:
            self._undo()
            raise

    def _finish(self) -> None:
        if not self._lengths:
            raise DataError(f"no episode was given for {self.path}; a data set needs at least one")
        with disk_errors(self.path):
            assert self._shard is not None
            self._done.append(self._shard.commit(self._sync))
            write_json(self.path / CARD, self._card(), self._sync)

    def _undo(self) -> None:
        """Remove what this writer made, and nothing else."""
        (self.path / CARD).unlink(missing_ok=True)
        if self._shard is not None:
            self._shard.abandon()
        for shard in self._done:
            shutil.rmtree(self.path / shard["name"], ignore_errors=True)
        if self._made_directory and self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def _card(self) -> dict[str, Any]:
        known = [seed for seed in self._seeds if seed >= 0]
        return {
            "format": FORMAT,
            "version": VERSION,
            **self._head,
            "spaces": spaces_to_json(self.spaces),
            "infos": self._infos,
            **({"frame_stack": self._stacks} if self._stacks else {}),
            "dropped_infos": sorted(self.dropped_infos),
            "episodes": len(self._lengths),
            "steps": sum(self._lengths),
            "returns": _statistics(self._returns),
            "lengths": _statistics(self._lengths),
            "seeds": {"known": len(known), "min": min(known, default=-1), "max": max(known, default=-1)},
            "shards": self._done,
        }


def _json_values(head: dict[str, Any]) -> dict[str, Any]:
    """Refused before the first episode is made rather than after the last one."""
    for name in ("environment", "generator"):
        if not isinstance(head[name], str):
            raise DataError(f"the {name} of a data set must be a text, got {type(head[name]).__name__}")
    try:
        return dict(json.loads(json.dumps(head, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise DataError(f"the options of a data set must be JSON values: {error}") from error


def _statistics(values: list[Any]) -> dict[str, float]:
    array = np.array(values, dtype=np.float64)
    return {name: float(getattr(array, name)()) for name in ("min", "mean", "max", "std")}
