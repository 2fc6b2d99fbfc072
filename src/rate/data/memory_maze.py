"""The public data of Memory Maze (Pasukonis et al., 2022): a directory of NPZ files, one episode in each.

Row t holds the image, and the action and reward that came before it, the action as one-hot: zeros in the first row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np

from rate.data.npz import open_npz
from rate.data.place import made_aside
from rate.data.store import TrajectoryStore
from rate.data.writer import StoreWriter
from rate.errors import DataError
from rate.system.files import shown
from rate.types import Array, Spaces, Trajectory

COLUMNS = ("image", "action", "reward")
ENDS = ("terminal", "reset")
"""May be absent: then a time limit ends the episode."""


def is_memory_maze(directory: Path) -> bool:
    """Whether a directory holds files of this layout."""
    return bool(files_of(directory))


def files_of(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.suffix.lower() == ".npz")


def import_memory_maze(
    directory: Path,
    out: Path,
    *,
    spaces: Spaces | None = None,
    environment: str = "",
    on_note: Callable[[str], None] | None = None,
) -> TrajectoryStore:
    """Write a store at `out` from all files of a directory."""
    dropped: set[str] = set()
    episodes = _episodes(directory, dropped)
    first, classes = next(episodes)
    image = first.observations
    assert isinstance(image, np.ndarray)
    found = Spaces(observation=gym.spaces.Box(0, 255, image.shape[1:], np.uint8), action=gym.spaces.Discrete(classes))
    if spaces is not None and spaces != found:
        raise DataError(f"{shown(directory)} holds {found.observation} and {found.action}; {_named(spaces)}")
    options = {"directory": directory.name, "format": "memory-maze"}
    with made_aside(out) as made:
        writer = StoreWriter(
            made, spaces=found, environment=environment, options=options, generator=f"import of {directory.name}"
        )
        with writer:
            writer.add(first)
            for episode, others in episodes:
                if others != classes or np.shape(episode.observations)[1:] != image.shape[1:]:
                    raise DataError(f"the files of {shown(directory)} differ in the shape of images or actions")
                writer.add(episode)
            writer.dropped_infos |= dropped
    if on_note is not None and dropped:
        on_note(f"left out, since there is no place for it: {shown(', '.join(sorted(dropped)))}")
    return TrajectoryStore.open(out, check=False)


def _named(spaces: Spaces) -> str:
    return f"the environment has {spaces.observation} and {spaces.action}"


def _episodes(directory: Path, dropped: set[str]) -> Iterator[tuple[Trajectory, int]]:
    """The episodes, and of each how many actions there are."""
    for file in files_of(directory):
        with open_npz(file, lambda name: name in (*COLUMNS, *ENDS)) as (columns, others):
            dropped.update(others)
            _check(file, columns)
            yield _episode(columns), columns["action"].shape[1]


def _check(file: Path, columns: dict[str, Array]) -> None:
    """Refuse what is not of this layout."""
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise DataError(f"{shown(file)} has no {', '.join(missing)}: it is not an episode of Memory Maze")
    image, action, rows = columns["image"], columns["action"], len(columns["image"]) if columns["image"].ndim else 0
    if image.ndim != 4 or image.dtype != np.uint8 or rows < 2:
        raise DataError(f"{shown(file)}: image is {image.dtype} {image.shape}, not two or more images of bytes")
    for name in (name for name in (*COLUMNS, *ENDS) if name in columns):
        if columns[name].shape[:1] != (rows,) or columns[name].ndim != {"image": 4, "action": 2}.get(name, 1):
            raise DataError(f"{shown(file)}: {name} has the shape {columns[name].shape}, with {rows} images")
    if (action[0] != 0).any():
        raise DataError(f"{shown(file)}: the first action is not all zeros, so it is not the one before the image")
    if not (np.isin(action, (0, 1)).all() and (action[1:].sum(1) == 1).all()):
        raise DataError(f"{shown(file)}: actions are not one-hot")
    if not np.isfinite(columns["reward"].astype(np.float64)).all():
        raise DataError(f"{shown(file)}: rewards are not finite")
    never = np.zeros(rows)
    if columns.get("reset", never)[1:].any() or columns.get("terminal", never)[1:-1].any():
        raise DataError(f"{shown(file)}: a second episode begins in the file; give one file for each")


def _episode(columns: dict[str, Array]) -> Trajectory:
    """What stands beside an image came before it: moved by one, it is what follows the image before."""
    steps = len(columns["image"]) - 1
    terminations = columns.get("terminal", np.zeros(steps + 1))[1:].astype(np.bool_)
    truncations = np.zeros(steps, np.bool_)
    truncations[-1] = not terminations[-1]
    return Trajectory(
        observations=columns["image"],
        actions=columns["action"][1:].argmax(1).astype(np.int64),
        rewards=columns["reward"][1:].astype(np.float32),
        terminations=terminations,
        truncations=truncations,
    )
