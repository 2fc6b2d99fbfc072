"""DQN-replay (Agarwal et al., 2020): 50 buffers of an agent's training on an Atari game, as gzip of `.npy` arrays.

Episodes are drawn as the Decision Transformer draws them: a buffer at random, ten episodes on from where it was left,
until there are enough steps. Buffers are read as streams, so memory holds one episode.
"""

from __future__ import annotations

import gzip
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, cast

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.data.packed import StackedColumn
from rate.data.place import made_aside
from rate.data.store import TrajectoryStore
from rate.data.writer import StoreWriter
from rate.errors import DataError
from rate.system.files import reading, shown
from rate.types import Array, Spaces, Trajectory

COLUMNS = ("observation", "action", "reward", "terminal")
FRAME = (84, 84)
STACK = 4
STEPS = 500_000
"""Steps that are drawn, 1 % of all."""
VISIT = 10
"""Episodes that are taken from a buffer before another is drawn."""
CAP = 100_000
"""Steps at the beginning of a buffer that are looked at."""


def import_dqn_replay(
    directory: Path | str,
    out: Path | str,
    *,
    spaces: Spaces | None = None,
    environment: str = "",
    steps: int = STEPS,
    seed: int = 0,
) -> TrajectoryStore:
    """Write a store at `out` from the directory of one run of a game, replay_logs."""
    source, rng = Path(directory), np.random.default_rng(seed)
    numbers = buffers(source)
    options = {"directory": source.name, "format": "dqn-replay", "steps": steps, "seed": seed}
    with ExitStack() as opened, made_aside(Path(out)) as made:
        left = [opened.enter_context(Buffer(source, number)) for number in numbers]
        chosen = spaces or _inferred(left)
        _check(chosen, left)
        writer = StoreWriter(
            made,
            spaces=chosen,
            environment=environment,
            options=options,
            generator=f"import of {source.name}",
            frame_stack={"observations": STACK},
        )
        with writer:
            missing = steps
            while missing > 0 and left:
                buffer = left[int(rng.integers(len(left)))]
                for _ in range(VISIT):
                    episode = buffer.episode(chosen)
                    if episode is None:
                        left.remove(buffer)
                        break
                    writer.add(episode)
                    missing -= len(episode)
                    if missing <= 0:
                        break
    return TrajectoryStore.open(out, check=False)


def buffers(source: Path) -> list[int]:
    """The numbers of the buffers in a directory; all their files must be there."""
    if not source.is_dir():
        raise DataError(f"no directory {shown(source)} to import")
    found = {
        int(match[1])
        for file in source.iterdir()
        if (match := re.fullmatch(r"\$store\$_\w+_ckpt\.(\d+)\.gz", file.name))
    }
    if not found:
        raise DataError(f"{shown(source)} holds no $store$_*_ckpt.N.gz; give the directory replay_logs of one run")
    for number in sorted(found):
        for column in COLUMNS:
            if not file_of(source, column, number).is_file():
                raise DataError(f"{shown(file_of(source, column, number))} is missing")
    return sorted(found)


def file_of(source: Path, column: str, number: int) -> Path:
    return source / f"$store$_{column}_ckpt.{number}.gz"


class Buffer:
    """One buffer: its small columns whole, its frames as a stream."""

    def __init__(self, source: Path, number: int) -> None:
        self._path = file_of(source, "observation", number)
        columns = {name: self._column(file_of(source, name, number)) for name in COLUMNS[1:]}
        self.actions, self._rewards, terminal = columns.values()
        if len({len(column) for column in columns.values()}) != 1:
            raise DataError(f"the columns of buffer {number} of {shown(source)} do not have one length")
        self._ends: NDArray[np.int64] = np.flatnonzero(terminal) + 1
        self._at = self._episode = 0

    @staticmethod
    def _column(path: Path) -> Array:
        with reading(path, DataError), gzip.open(path) as stream:
            shape, dtype = _header(stream)
            rows = min(shape[0], CAP)
            return np.frombuffer(_exactly(stream, rows * dtype.itemsize), dtype)

    def __enter__(self) -> Buffer:
        self._stream = gzip.open(self._path)
        with reading(self._path, DataError):
            shape, dtype = _header(self._stream)
            if shape[1:] != FRAME or dtype != np.uint8 or min(shape[0], CAP) != len(self.actions):
                raise ValueError(f"it holds {dtype} {shape}, not a frame of {FRAME} bytes for each action")
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def episode(self, spaces: Spaces) -> Trajectory | None:
        """The next one; None at the end. An episode that the end of the buffer cuts is left out."""
        if self._episode == len(self._ends):
            return None
        start, stop = self._at, int(self._ends[self._episode])
        self._at, self._episode = stop, self._episode + 1
        with reading(self._path, DataError):
            data = _exactly(self._stream, (stop - start) * FRAME[0] * FRAME[1])
        frames = np.frombuffer(data, np.uint8).reshape(-1, *FRAME)
        # What followed the last action was not kept.
        frames = np.concatenate([frames, frames[-1:]])
        terminations = np.zeros(stop - start, np.bool_)
        terminations[-1] = True
        return Trajectory(
            observations=np.asarray(StackedColumn(frames, np.zeros(1, np.int64), STACK)[:]),
            actions=self.actions[start:stop].astype(spaces.action.dtype),
            rewards=self._rewards[start:stop].astype(np.float32),
            terminations=terminations,
            truncations=np.zeros_like(terminations),
        )


def _header(stream: gzip.GzipFile) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array whose values follow; what is declared is read in parts, never taken as a whole."""
    file = cast(BinaryIO, stream)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject or fortran or not shape or min(shape) < 0:
        raise ValueError(f"it holds {dtype} {shape}, which is not a column of numbers")
    return shape, dtype


def _exactly(stream: gzip.GzipFile, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise ValueError(f"it ends after {len(data):,} of {size:,} bytes")
    return data


def _inferred(found: list[Buffer]) -> Spaces:
    actions = 1 + max(int(buffer.actions.max(initial=0)) for buffer in found)
    return Spaces(observation=gym.spaces.Box(0, 255, (STACK, *FRAME), np.uint8), action=gym.spaces.Discrete(actions))


def _check(spaces: Spaces, found: list[Buffer]) -> None:
    """Refuse spaces of another game."""
    if spaces.observation.shape != (STACK, *FRAME) or not isinstance(spaces.action, gym.spaces.Discrete):
        raise DataError(
            f"DQN-replay has stacks of {STACK} frames of {FRAME}; the environment shows {spaces.observation}"
        )
    highest = max(int(buffer.actions.max(initial=0)) for buffer in found)
    if highest >= spaces.action.n:
        raise DataError(
            f"the data has the action {highest}; the environment has {spaces.action.n}: is it of another game?"
        )
