"""The trajectory store: packed columns, memory-mapped, so that data may be larger than memory.

A directory with card.json and shards of `.npy` columns. Episode i of a shard has the steps offsets[i] .. offsets[i + 1]
and the observation rows offsets[i] + i .. offsets[i + 1] + i + 1, since it has one observation more than steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.data.checks import check_finite, check_layout, check_values, leaf_spaces, row_layout
from rate.data.columns import Form, chunks, crc32, map_of, release, space_form, unpack
from rate.data.npy import map_file
from rate.data.packed import ENDS, SUFFIX, PackedColumn, stacked
from rate.data.returns import ragged_suffix_sums
from rate.data.space_json import spaces_from_json
from rate.data.writer import CARD, FORMAT, VERSION, StoreWriter
from rate.errors import DataError
from rate.system.files import inside, read_json, reading, shown
from rate.types import Array, Spaces, Trajectory

__all__ = ["Shard", "StoreWriter", "TrajectoryStore", "is_store"]

AGAIN = "collect or convert it again"
RESIDENT_BYTES = 1 << 26
"""About as much of a data set is held in memory; one that is smaller is never given back."""
AROUND = 1 << 21
"""Where one page is read, the system maps its neighbours too: on Linux as much as a huge page."""


def is_store(path: Path | str) -> bool:
    return (Path(path) / CARD).is_file()


@dataclass(frozen=True)
class Shard:
    """The columns of some consecutive episodes."""

    columns: dict[str, Any]
    """Arrays, or what is read like one."""
    offsets: NDArray[np.int64]
    seeds: NDArray[np.int64]

    def rows(self, name: str, episode: int) -> Array:
        """The rows of one column that belong to an episode (counted within the shard)."""
        start, stop = int(self.offsets[episode]), int(self.offsets[episode + 1])
        if name.startswith(("observations", "infos")):
            start, stop = start + episode, stop + episode + 1
        rows: Array = self.columns[name][start:stop]
        return rows


class TrajectoryStore:
    """A data set that is read in place. The arrays it gives are read-only views of the files."""

    def __init__(self, path: Path, card: dict[str, Any], spaces: Spaces, shards: list[Shard]) -> None:
        self.path, self.card, self.spaces, self.shards = path, card, spaces, shards
        self._observation_form = space_form(spaces.observation)
        counts = [len(shard.seeds) for shard in shards]
        self.shard_of: NDArray[np.int64] = np.repeat(np.arange(len(shards)), counts)
        """(episodes,) the shard that holds an episode."""
        self.episode_in_shard: NDArray[np.int64] = np.concatenate([np.arange(count) for count in counts])
        self.first_step: NDArray[np.int64] = np.concatenate([shard.offsets[:-1] for shard in shards])
        """(episodes,) the first row of an episode in the step columns of its shard."""
        self.lengths: NDArray[np.int64] = np.concatenate([np.diff(shard.offsets) for shard in shards])
        self.seeds: NDArray[np.int64] = np.concatenate([shard.seeds for shard in shards])
        self.part_of: NDArray[np.int64] = np.zeros_like(self.seeds)
        """(episodes,) the data set that an episode is from, where several are mixed."""
        columns = [column for shard in shards for column in shard.columns.values()]
        self._maps = [map_of(column) for column in columns]
        self._size, self._read = sum(column.nbytes for column in columns), 0

    @classmethod
    def open(cls, path: Path | str, check: bool = True) -> TrajectoryStore:
        """Open a data set; `check` also reads all of it to verify checksums and values."""
        root = Path(path)
        card = _read_card(root)
        with reading(root / CARD, DataError):
            spaces = spaces_from_json(card["spaces"])
            shards = [_open_shard(root, card, entry, spaces, check) for entry in card["shards"]]
            if sum(len(shard.seeds) for shard in shards) != card["episodes"] or not shards:
                raise DataError(f"{shown(root)} does not hold the episodes that its card names; {AGAIN}")
            _check_infos(card["infos"], shards)
            return cls(root, card, spaces, shards)

    @property
    def digest(self) -> str:
        """The same for the same episodes, whatever their place."""
        sums = [[file["crc32"] for _, file in sorted(shard["files"].items())] for shard in self.card["shards"]]
        return hashlib.sha256(json.dumps(sums).encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Trajectory:
        if not -len(self) <= index < len(self):
            raise IndexError(f"episode {index} of {len(self)}")
        index = index % len(self)
        shard, episode = self.shards[int(self.shard_of[index])], int(self.episode_in_shard[index])
        return Trajectory(
            observations=unpack(self._observation_form, "observations", lambda name: shard.rows(name, episode)),
            actions=shard.rows("actions", episode),
            rewards=shard.rows("rewards", episode),
            terminations=shard.rows("terminations", episode),
            truncations=shard.rows("truncations", episode),
            infos=unpack(self.card["infos"], "infos", lambda name: shard.rows(name, episode)),
            seed=int(self.seeds[index]),
        )

    def __iter__(self) -> Iterator[Trajectory]:
        total = int(self.lengths.sum())
        for index, steps in enumerate(self.lengths.tolist()):
            yield self[index]
            self.count_read(self._size * steps // total)

    def count_read(self, size: int) -> None:
        """Counts the bytes that were brought into memory; now and then all pages are given back."""
        if self._size > RESIDENT_BYTES:
            self._read += size
            if self._read > RESIDENT_BYTES:
                release(self._maps)
                self._read = 0

    def suffix_sums(self, ids: NDArray[np.int64], scale: float = 1.0, dtype: type = np.float64) -> Array:
        """What is still earned from every step on, divided by `scale`, of some episodes one after the other."""
        lengths = self.lengths[ids]
        ends = np.cumsum(lengths)
        sums: Array = np.empty(int(lengths.sum()), dtype=dtype)
        for number, shard in enumerate(self.shards):
            here = np.flatnonzero(self.shard_of[ids] == number)
            rewards, to = shard.columns["rewards"], ends[here] - lengths[here]
            ragged_suffix_sums(rewards, self.first_step[ids[here]], lengths[here], to, sums, scale)
            self.count_read(rewards.nbytes)
        return sums

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """(episodes,) undiscounted."""
        firsts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        returns: NDArray[np.float64] = self.suffix_sums(np.arange(len(self)))[firsts]
        if not np.isfinite(returns).all():
            raise DataError(
                f"{shown(self.path)}: the rewards of episode {int(np.argmin(np.isfinite(returns)))} have no finite sum"
            )
        return returns


def _read_card(root: Path) -> dict[str, Any]:
    where = shown(root)
    if not root.is_dir():
        raise DataError(f"no data set at {where}: there is no such directory; check the path or collect one")
    if not is_store(root):
        raise DataError(f"{where} is not a data set: it has no {CARD}; check the path or collect one")
    card = read_json(root / CARD, DataError)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise DataError(f"{where} has a {CARD} that is not the card of a data set of this library; check the path")
    if card.get("version") != VERSION:
        found = shown(card.get("version"), 20)
        raise DataError(f"{where} has format version {found}, this release reads {VERSION}; {AGAIN}")
    _check_card(card, where)
    return card


def _check_card(card: dict[str, Any], where: str) -> None:
    """What the rest of the library reads of a card has the type that it is taken for."""
    kinds: dict[str, type] = {"environment": str, "generator": str, "options": dict, "dropped_infos": list}
    kinds["frame_stack"] = dict
    for name, kind in kinds.items():
        if not isinstance(card.get(name, kind()), kind):
            raise DataError(f"{where} has a {CARD} in which {name!r} is no {kind.__name__}; {AGAIN}")
    with reading(f"the env_spec in the {CARD} of {where}", DataError):
        spec = json.loads(card.get("options", {}).get("env_spec", "{}"))
        if not isinstance(spec, dict) or not isinstance(spec.get("kwargs", {}), dict):
            raise ValueError("it is not the description of an environment")


def _check_infos(form: Form, shards: list[Shard]) -> None:
    """The columns that the form of the infos names are there."""
    names = list[str]()
    unpack(form, "infos", names.append)
    missing = [name for name in names for shard in shards if name not in shard.columns]
    if not isinstance(form, dict) or "dict" not in form or missing:
        raise DataError(f"the card names infos that are not there: {shown(missing[:1])}; {AGAIN}")


def _open_shard(root: Path, card: dict[str, Any], entry: dict[str, Any], spaces: Spaces, check: bool) -> Shard:
    path = _own(root, entry["name"])
    if not path.is_dir():
        raise DataError(f"{shown(path)} is missing; {AGAIN}")
    files = {name: _open_column(_own(path, name), file, check) for name, file in entry["files"].items()}
    columns: dict[str, Any] = {name[:-4]: file for name, file in files.items() if name.endswith(".npy")}
    offsets, seeds = (_whole_numbers(path, name, columns.pop(name)) for name in ("offsets", "seeds"))
    consistent = len(offsets) == len(seeds) + 1 == entry["episodes"] + 1 and offsets[0] == 0
    if not consistent or offsets[-1] != entry["steps"] or (np.diff(offsets) < 1).any():
        raise DataError(f"{shown(path / 'offsets.npy')} does not agree with the card; {AGAIN}")
    try:
        columns |= _packed_columns(files, spaces, card.get("frame_stack", {}))
        starts = offsets[:-1] + np.arange(len(seeds))
        for name, depth in card.get("frame_stack", {}).items():
            columns[name] = stacked(columns[name], starts, depth, leaf_spaces(spaces)[name])
        _check_columns(columns, spaces, int(offsets[-1]), len(seeds), check)
    except DataError as error:
        raise DataError(f"{shown(path)} is damaged: {error}; {AGAIN}") from error
    return Shard(columns=columns, offsets=offsets, seeds=seeds)


def _packed_columns(files: dict[str, Array], spaces: Spaces, stacks: dict[str, int]) -> dict[str, PackedColumn]:
    """The columns whose rows are compressed; a stack of frames has one of them in a row."""
    columns = {}
    for name in (file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX)):
        dtype, shape = row_layout(leaf_spaces(spaces)[name])
        shape = shape[1:] if name in stacks else shape
        columns[name] = PackedColumn(files[name + SUFFIX], files[name + ENDS], dtype, shape)
    return columns


def _own(root: Path, name: str) -> Path:
    """A file or directory of a data set that the card names; it stands where it is named."""
    path = inside(root, name, DataError)
    if path.is_symlink():
        raise DataError(f"{shown(path)} is a symbolic link; put what it points to in its place")
    return path


def _whole_numbers(path: Path, name: str, column: Array) -> NDArray[np.int64]:
    check_layout(name, column, len(column), np.dtype(np.int64), ())
    return np.array(column)


def _open_column(path: Path, file: dict[str, Any], check: bool) -> Array:
    if not path.is_file():
        raise DataError(f"{shown(path)} is missing; {AGAIN}")
    with reading(path, DataError):
        size = path.stat().st_size
        if size != file["size"]:
            raise DataError(f"{shown(path)} has {size} bytes where the card names {shown(file['size'], 20)}; {AGAIN}")
        if check and crc32(path) != file["crc32"]:
            raise DataError(f"{shown(path)} is damaged: its checksum is not that of the card; {AGAIN}")
        try:
            return map_file(path)
        except ValueError as error:
            raise DataError(f"{shown(path)} is not a readable .npy file: {shown(error)}; {AGAIN}") from error


def _check_columns(columns: dict[str, Array], spaces: Spaces, steps: int, episodes: int, check: bool) -> None:
    leaves = leaf_spaces(spaces)
    for name, space in leaves.items():
        rows = steps + episodes * name.startswith("observations")
        check_layout(name, columns[name], rows, *row_layout(space))
        if check:
            check_values(name, columns[name], space)
    check_layout("rewards", columns["rewards"], steps, columns["rewards"].dtype, ())
    if columns["rewards"].dtype.kind not in "fiu":
        raise DataError("rewards are not numbers")
    if check:
        for part in chunks(columns["rewards"]):
            check_finite("rewards", part)
    for name in ("terminations", "truncations"):
        check_layout(name, columns[name], steps, np.dtype(bool), ())
    for name in columns.keys() - leaves.keys() - {"rewards", "terminations", "truncations"}:
        check_layout(name, columns[name], steps + episodes, columns[name].dtype, columns[name].shape[1:])
