"""Data of other formats into a store: D4RL-style HDF5, NPZ of flat arrays, pickled lists of dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from rate.data.checks import reward_dtype
from rate.data.dqn_replay import import_dqn_replay
from rate.data.episodes import as_trajectory, only_dones
from rate.data.flat import FOLLOWING, Episode, Flat, Key, below, check_columns, common_name, cut, is_read, nested
from rate.data.hdf5 import open_hdf5, read_tree
from rate.data.infer import inferred_spaces
from rate.data.memory_maze import import_memory_maze, is_memory_maze
from rate.data.npz import open_npz
from rate.data.pickles import pickled_episodes
from rate.data.place import made_aside
from rate.data.store import TrajectoryStore
from rate.data.writer import StoreWriter
from rate.errors import ConfigError, DataError
from rate.system.files import reading, shown
from rate.types import Spaces, Tree

Format = Literal["d4rl", "npz", "pickle"]
SUFFIXES: dict[str, Format] = {
    ".hdf5": "d4rl",
    ".h5": "d4rl",
    ".npz": "npz",
    ".pkl": "pickle",
    ".pickle": "pickle",
}
MIXED = "dones mix both kinds of end; all count as terminations, also where a time limit cut the episode"


class Source(NamedTuple):
    """What a file holds."""

    episodes: Iterator[Episode]
    observations: list[Tree]
    """All that there are, to tell their space from; the last ones of episodes too."""
    actions: Any
    """Of all episodes: a column, or a list of them, one per episode. So are rewards."""
    rewards: Any
    dropped: set[str]
    """Names of what has no place."""
    remark: str = ""
    """What the user should know of how episodes were told apart."""


def import_data(
    source: Path | str,
    out: Path | str,
    *,
    format: Format | None = None,
    spaces: Spaces | None = None,
    environment: str = "",
    allow_pickle: bool = False,
    on_note: Callable[[str], None] | None = None,
) -> TrajectoryStore:
    """Write a store at `out` from a file, or from a directory of DQN-replay or of Memory Maze.

    `spaces` that are not given are inferred from the values. `on_note` is given what the user should know.
    """
    path, place = Path(source), Path(out)
    if path.is_dir() and is_memory_maze(path):
        return import_memory_maze(path, place, spaces=spaces, environment=environment, on_note=on_note)
    if path.is_dir():
        return import_dqn_replay(path, place, spaces=spaces, environment=environment)
    if not path.is_file():
        raise DataError(f"no file {shown(path)} to import")
    kind = format or format_of(path)
    if kind not in get_args(Format):
        raise ConfigError(f"the format {shown(kind)!r} is not known; it is one of {', '.join(get_args(Format))}")
    with reading(path, DataError), _opened(path, kind, allow_pickle) as content:
        chosen = spaces or inferred_spaces(content.observations, content.actions)
        with made_aside(place) as made:
            mixed = _write(content, made, chosen, environment, {"file": path.name, "format": kind})
    if on_note is not None:
        for text in _notes(mixed, content):
            on_note(text)
    return TrajectoryStore.open(out, check=False)


def _write(source: Source, made: Path, spaces: Spaces, environment: str, options: dict[str, Any]) -> bool:
    """Write all episodes; returns whether their ends are known by dones only."""
    mixed, generator = False, f"import of {options['file']}"
    writer = StoreWriter(made, spaces=spaces, environment=environment, options=options, generator=generator)
    writer.dropped_infos |= source.dropped
    parts = source.rewards if isinstance(source.rewards, list) else [source.rewards]
    rewards = reward_dtype(part.dtype for part in parts)
    with writer:
        for index, episode in enumerate(source.episodes):
            writer.add(as_trajectory(episode, spaces, rewards, index))
            mixed = mixed or (only_dones(episode) and "timeouts" not in episode)
    return mixed


def _notes(mixed: bool, source: Source) -> list[str]:
    left_out = f"left out, since there is no place for it: {shown(', '.join(sorted(source.dropped)))}"
    notes = {MIXED: mixed, source.remark: source.remark, left_out: source.dropped}
    return [text for text, applies in notes.items() if applies]


def _remark(flat: Flat, name: str) -> str:
    """Without timeouts or offsets, episodes that a time limit cut run on into the next."""
    if ("terminals",) not in flat or ("timeouts",) in flat or ("offsets",) in flat:
        return ""
    return (
        f"{shown(name)} has terminals and no timeouts: episodes that a time limit cut are joined with those after them"
    )


def format_of(path: Path) -> Format:
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise ConfigError(f"the format of {path.name} cannot be told; give --format {', '.join(get_args(Format))}")
    return found


@contextmanager
def _opened(path: Path, kind: Format, allow_pickle: bool) -> Iterator[Source]:
    where = shown(path)
    if kind == "pickle":
        listed, dropped = pickled_episodes(path, allow_pickle)
        seen = [item[name] for name in ("observations", FOLLOWING) for item in listed if name in item]
        done, earned = ([item[name] for item in listed] for name in ("actions", "rewards"))
        yield Source(iter(listed), seen, done, earned, dropped)
        return
    with _npz_columns(path) if kind == "npz" else _hdf5_columns(path) as (flat, others):
        named: dict[Key, Any] = {**flat, **{(name,): () for name in others}}  # without rows: they are left out, by name
        check_columns(named, where)
        episodes, dropped = cut(named, where)
        seen = [below(flat, name) for name in ("observations", FOLLOWING)]
        yield Source(
            episodes,
            [nested(columns) for columns in seen if columns],
            flat["actions",],
            flat["rewards",],
            dropped,
            _remark(flat, path.name),
        )


@contextmanager
def _npz_columns(path: Path) -> Iterator[tuple[Flat, list[str]]]:
    """A part of a tree is named `observations/image` or `observations.image`."""

    def key(name: str) -> Key:
        first, *rest = name.split("/" if "/" in name else ".")
        return common_name(first), *rest

    with open_npz(path, lambda name: is_read(key(name)[0])) as (columns, others):
        yield {key(name): rows for name, rows in columns.items()}, others


@contextmanager
def _hdf5_columns(path: Path) -> Iterator[tuple[Flat, list[str]]]:
    """A part of a tree is an array in a group."""
    with open_hdf5(path) as file:
        names = {str(name): is_read(str(name)) for name in file}
        flat: dict[Key, Any] = {}
        for name in (name for name, read in names.items() if read):
            flat |= _flattened(read_tree(file, name, str(path)), (common_name(name),))
        yield flat, [name for name, read in names.items() if not read]


def _flattened(tree: Tree, key: Key) -> dict[Key, Any]:
    if not isinstance(tree, dict):
        return {key: tree}
    return {found: rows for name, part in tree.items() for found, rows in _flattened(part, (*key, name)).items()}
