"""Data of other formats into a store: D4RL-style HDF5, NPZ of flat arrays, pickled lists of dicts.

Steps keep their alignment: observations[t] is seen before actions[t], rewards[t] follows it. Where a source has no
observation after the last step of an episode, that is next_observations[-1], or else the last one is repeated.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rate.data.checks import as_rewards, common_infos, conform, like, reward_dtype
from rate.data.infer import inferred_spaces
from rate.data.pickles import read_pickle
from rate.data.store import TrajectoryStore
from rate.data.writer import StoreWriter
from rate.errors import ConfigError, DataError, MissingExtraError
from rate.types import Array, Spaces, Trajectory, Tree, tree_leaves, tree_map

Format = Literal["d4rl", "npz", "pickle"]
SUFFIXES: dict[str, Format] = {
    ".hdf5": "d4rl",
    ".h5": "d4rl",
    ".npz": "npz",
    ".pkl": "pickle",
    ".pickle": "pickle",
}
SYNONYMS = {"terminations": "terminals", "truncations": "timeouts", "episode_offsets": "offsets"}
NEEDED = ("observations", "actions", "rewards")
ENDS = ("terminals", "timeouts", "dones")
KNOWN = (*NEEDED, *ENDS, "next_observations")
INFO = "infos/"
MIXED = "dones mix both kinds of end; all count as terminations, also where a time limit cut the episode"
H5_CACHE = 1 << 26
"""Chunks of HDF5 are packed; with this many bytes of them at hand, few are unpacked twice."""

Columns = Mapping[str, Any]
"""Name -> rows: arrays, or what slices like them."""


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
    """Write a store at `out` from a file; `spaces` that are not given are inferred from the values.

    `on_note` is told what the user should know.
    """
    path = Path(source)
    if not path.is_file():
        raise DataError(f"no file {path} to import")
    kind = format or format_of(path)
    with _episodes(path, kind, allow_pickle) as (episodes, everything):
        chosen = spaces or inferred_spaces(everything["observations"], everything["actions"])
        options = {"file": path.name, "format": kind}
        writer = StoreWriter(
            out, spaces=chosen, environment=environment, options=options, generator=f"import of {path.name}"
        )
        rewards = reward_dtype(part.dtype for part in _parts(everything["rewards"]))
        mixed = False
        with writer:
            for index, episode in enumerate(episodes):
                trajectory, dropped = _trajectory(episode, chosen, rewards, index)
                writer.dropped_infos |= dropped
                writer.add(trajectory)
                mixed = mixed or (_only_dones(episode) and "timeouts" not in episode)
    if on_note is not None:
        for text in _notes(mixed, writer.dropped_infos):
            on_note(text)
    return TrajectoryStore.open(out, check=False)


def _notes(mixed: bool, dropped: set[str]) -> list[str]:
    left_out = f"left out, since there is no place for it: {', '.join(sorted(dropped))}"
    return [*([MIXED] if mixed else []), *([left_out] if dropped else [])]


def format_of(path: Path) -> Format:
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise ConfigError(f"the format of {path.name} cannot be told; give --format {', '.join(get_args(Format))}")
    return found


@contextmanager
def _episodes(path: Path, kind: Format, allow_pickle: bool) -> Iterator[tuple[Iterator[Columns], Columns]]:
    """The episodes of a file, and its columns as a whole."""
    if kind == "pickle":
        listed = [
            _in_rows(item, f"episode {index} of {path}") for index, item in enumerate(read_pickle(path, allow_pickle))
        ]
        yield iter(_alike(listed)), {name: [item[name] for item in listed] for name in NEEDED}
        return
    with _opened(path, kind) as columns:
        flat = _renamed(columns)
        _check_columns(flat, str(path))
        yield _cut(flat, str(path)), flat


@contextmanager
def _opened(path: Path, kind: Format) -> Iterator[Columns]:
    if kind == "npz":
        try:
            with np.load(path, allow_pickle=False) as file:
                columns = {name: file[name] for name in file.files}
        except (ValueError, TypeError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is not a readable .npz file of arrays: {_first_line(error)}") from error
        yield columns
        return
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "minari") from error
    try:
        file = h5py.File(path, "r", rdcc_nbytes=H5_CACHE)
    except OSError as error:
        raise DataError(f"{path} is not a readable HDF5 file: {_first_line(error)}") from error
    with file:
        yield _leaves(file, h5py.Dataset)


def _leaves(group: Any, kind: type, prefix: str = "") -> dict[str, Any]:
    """All arrays of an HDF5 file by their path."""
    found: dict[str, Any] = {}
    for name, item in group.items():
        found.update({f"{prefix}{name}": item} if isinstance(item, kind) else _leaves(item, kind, f"{prefix}{name}/"))
    return found


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _renamed(columns: Columns) -> dict[str, Any]:
    return {SYNONYMS.get(str(name), str(name)): rows for name, rows in columns.items()}


def _in_rows(episode: Columns, where: str) -> dict[str, Any]:
    """A pickled episode; what it must hold may be written as lists."""
    columns = _renamed(episode)
    try:
        arrays = {name: _arrays(columns[name]) for name in (*NEEDED, "next_observations") if name in columns}
    except ValueError as error:
        raise DataError(f"{where} has rows that are not of one shape: {_first_line(error)}") from error
    _check_columns({**columns, **arrays}, where)
    return {**columns, **arrays}


def _alike(episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Episodes whose infos have one form; what has not comes along empty, so that it is named as left out."""
    kinds, _ = common_infos((_infos(item, len(item["rewards"]))[0], len(item["rewards"]) + 1) for item in episodes)

    def column(name: str, values: Any) -> Any:
        if not name.startswith(INFO):
            return values
        kind = kinds.get(name.removeprefix(INFO))
        return () if kind is None else like(_info_rows(values), kind)

    return [{name: column(name, values) for name, values in item.items()} for item in episodes]


def _parts(column: Any) -> list[Any]:
    return column if isinstance(column, list) else [column]


def _check_columns(columns: Columns, where: str) -> None:
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise DataError(f"{where} has no {missing[0]!r}; it holds {', '.join(sorted(columns)) or 'nothing'}")
    for name in NEEDED:
        rows = columns[name]
        if isinstance(rows, Mapping) and name != "observations":
            raise DataError(f"{where} has a dict as {name!r}; it must be one array")
        if any(np.ndim(leaf) == 0 for leaf in (tree_leaves(rows) if isinstance(rows, Mapping) else [rows])):
            raise DataError(f"{where} has a single value as {name!r}; it must have a row per step")


def _cut(flat: Columns, where: str) -> Iterator[Columns]:
    """Flat columns as episodes: those that `offsets` name, else cut after every terminal, timeout or done."""
    steps = len(flat["rewards"])
    offsets = _offsets(flat, steps, where)
    count = len(offsets) - 1
    padded = len(flat["observations"]) == steps + count and "offsets" in flat
    rows = {name: len(column) if np.ndim(column) else 0 for name, column in flat.items() if name != "offsets"}
    for name, found in rows.items():
        wanted = steps + count if padded and name == "observations" else steps
        if name in KNOWN and found != wanted:
            raise DataError(f"{where} has {found} rows of {name!r} where {wanted} are expected")
    for index in range(count):
        start, stop = int(offsets[index]), int(offsets[index + 1])
        # What has no row per step comes along empty, so that it is named among what is left out.
        episode = {name: flat[name][start:stop] if found == steps else () for name, found in rows.items()}
        if padded:
            episode["observations"] = flat["observations"][start + index : stop + index + 1]
        yield episode


def _offsets(flat: Columns, steps: int, where: str) -> NDArray[np.int64]:
    if "offsets" in flat:
        offsets = np.atleast_1d(np.asarray(flat["offsets"])).astype(np.int64)
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != steps or (np.diff(offsets) < 0).any():
            raise DataError(f"the offsets of {where} do not rise from 0 to the number of steps, {steps}")
        return offsets
    if not any(name in flat for name in ENDS):
        raise DataError(
            f"{where} does not tell where its episodes end; give it terminals and timeouts, dones, or offsets; "
            f"it holds {', '.join(sorted(flat))}"
        )
    ends = np.zeros(steps, bool)
    for name in ENDS:
        if name in flat and np.shape(flat[name])[:1] == (steps,):
            ends |= np.asarray(flat[name][:]).astype(bool).reshape(-1)
    after = np.flatnonzero(ends) + 1
    return np.unique(np.concatenate([[0], after, [steps]])).astype(np.int64)


def _trajectory(
    episode: Columns, spaces: Spaces, reward_type: np.dtype[Any], index: int
) -> tuple[Trajectory, set[str]]:
    """One episode, and the names of what it holds that has no place. An episode without an end is cut off there."""
    rewards = np.asarray(episode["rewards"])
    rewards = rewards.reshape(-1) if rewards.ndim == 2 and rewards.shape[1] == 1 else rewards
    steps = len(rewards)
    try:
        terminations, truncations = _ends(episode, steps)
        observations = conform(_with_last(episode, steps), spaces.observation, round_floats=True)
        actions = conform(_shaped(episode["actions"], spaces.action.shape, steps), spaces.action, round_floats=True)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"episode {index} does not have the form of its spaces: {_first_line(error)}") from error
    if steps and not (terminations[-1] or truncations[-1]):
        truncations[-1] = True
    infos, dropped = _infos(episode, steps)
    trajectory = Trajectory(
        observations=observations,
        actions=actions,
        rewards=as_rewards(rewards, reward_type),
        terminations=terminations,
        truncations=truncations,
        infos=infos,
    )
    return trajectory, dropped


def _only_dones(episode: Columns) -> bool:
    return "dones" in episode and "terminals" not in episode


def _ends(episode: Columns, steps: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The flags of both ends. Where there are no terminals, a done that is no timeout is one."""
    truncations = _flags(episode.get("timeouts"), steps)
    if _only_dones(episode):
        return _flags(episode["dones"], steps) & ~truncations, truncations
    return _flags(episode.get("terminals"), steps), truncations


def _flags(values: Any, steps: int) -> NDArray[np.bool_]:
    given = np.zeros(steps, bool) if values is None else np.asarray(values).reshape(-1)
    flags = given.astype(bool)
    if (given != flags).any():
        raise ValueError("a flag of its end is neither 0 nor 1")
    if len(flags) == 1 < steps:  # one flag for the whole episode
        flags = np.append(np.zeros(steps - 1, bool), flags)
    if len(flags) != steps:
        raise ValueError(f"it has {steps} steps and {len(flags)} flags of its end")
    return flags


def _shaped(actions: Any, shape: tuple[int, ...] | None, steps: int) -> Array:
    """Actions of one component may be written with or without an axis for it."""
    values = np.asarray(actions)
    one = shape in ((), (1,)) and values.size == steps
    return values.reshape(steps, *(shape or ())) if one else values


def _with_last(episode: Columns, steps: int) -> Tree:
    """The observations with the one that followed the last step."""
    observations = _arrays(episode["observations"])
    if any(len(leaf) != steps for leaf in tree_leaves(observations)) or not steps:
        return observations
    following = _arrays(episode["next_observations"]) if "next_observations" in episode else observations
    if any(len(leaf) != steps for leaf in tree_leaves(following)):
        raise ValueError(f"next_observations do not have a row for each of its {steps} steps")
    return tree_map(lambda leaf, last: np.concatenate([leaf, last[-1:]]), observations, following)


def _arrays(tree: Tree) -> Tree:
    """Lists of numbers as arrays."""
    return {key: _arrays(part) for key, part in tree.items()} if isinstance(tree, Mapping) else np.asarray(tree)


def _infos(episode: Columns, steps: int) -> tuple[dict[str, Array], set[str]]:
    """Columns infos/NAME, the last row repeated, since infos have one row per observation; and what is left out."""
    infos: dict[str, Array] = {}
    others = [name for name in episode if name not in KNOWN]
    for name in others:
        rows = _info_rows(episode[name]) if name.startswith(INFO) else np.array([])
        if rows.dtype.kind in "biufc" and len(rows) == steps > 0:
            infos[name.removeprefix(INFO)] = np.concatenate([rows, rows[-1:]])
    return infos, {name for name in others if name.removeprefix(INFO) not in infos}


def _info_rows(values: Any) -> Array:
    try:
        return np.atleast_1d(np.asarray(values))
    except ValueError:  # lists of several lengths
        return np.array([])
