"""WorkerBatch: the rows of a batch shared out over a few processes, each of which steps its rows one after the other.
For environments whose step costs more than sending it. Observations come back through shared memory.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from rate.envs.batch import SerialBatch
from rate.envs.spec import BatchEnv, BatchStep
from rate.errors import ConfigError, RateError
from rate.system.helpers import Helper
from rate.types import Array, Spaces, Tree, tree_leaves, tree_map

WORKERS = "RATE_ENV_WORKERS"
"""The variable that says how many processes step the environments of a batch; 1: this one does."""
ALIGN = 64

Make = Callable[[], gym.Env[Any, Any]]


def shared_out(make: Make, facts: Sequence[str] = (), workers: int | None = None) -> BatchEnv:
    """A batch over `workers` processes, without any if one is enough; None: as many as there are processors."""
    count = worker_count() if workers is None else workers
    return SerialBatch(make, facts) if count == 1 else WorkerBatch(make, facts, count)


def worker_count() -> int:
    """What the user says, or the processors that this process may use."""
    asked = os.environ.get(WORKERS, "")
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise ConfigError(f"{WORKERS} is {asked!r}; it must be a whole number of at least 1")
    return int(asked)


# ------------------------------------------------------------------------------------------------- this process


class WorkerBatch:
    """B episodes as `SerialBatch` has them, row by row the same. Processes are started with the first `reset`."""

    def __init__(self, make: Make, facts: Sequence[str], workers: int) -> None:
        one = make()  # also says at once, and here, what is wrong with the arguments
        self.spaces = Spaces(observation=one.observation_space, action=one.action_space)
        one.close()
        self.info: Mapping[str, Array] = {}
        self._task, self._most, self._workers = _sendable(make, facts), workers, list[Helper]()
        self._room = 0

    def reset(self, seeds: NDArray[np.int64]) -> Tree:
        size = len(seeds)
        if size == 0:
            raise ValueError("a batch needs at least one seed")
        if size > self._room:
            self._start(size)
        self._slots, self._owner = np.arange(size), _owners(size, min(size, len(self._workers)))
        infos = self._ask({worker: ("reset", seeds[rows], rows) for worker, rows in self._rows().items()})
        self.info = {key: np.concatenate([info[key] for info in infos]) for key in infos[0]}
        return self._seen()

    def step(self, action: Array) -> BatchStep:
        rows, action = self._rows(), np.asarray(action)
        parts = self._ask({worker: ("step", action[own]) for worker, own in rows.items()})
        size, order = len(self._slots), np.concatenate(list(rows.values()))
        reward, terminated, truncated = np.zeros(size), np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        for column, found in zip((reward, terminated, truncated), zip(*parts, strict=True), strict=True):
            column[order] = np.concatenate(found)
        return BatchStep(observation=self._seen(), reward=reward, terminated=terminated, truncated=truncated)

    def select(self, rows: NDArray[np.int64]) -> None:
        place = np.zeros(len(self._slots), np.int64)  # of each row among the rows of its process
        for own in self._rows().values():
            place[own] = np.arange(len(own))
        places = place[rows]
        self._slots, self._owner = self._slots[rows], self._owner[rows]
        self._ask({worker: ("select", places[own]) for worker, own in self._rows().items()})

    def close(self) -> None:
        workers, self._workers, self._room = self._workers, [], 0
        for worker in workers:
            worker.hang_up()  # all of them first, so that they leave side by side
        for worker in workers:
            worker.close()

    def _rows(self) -> dict[int, NDArray[np.int64]]:
        """The rows of the batch that a process has, in the order in which it has them; none: it is left out."""
        if not self._workers:
            raise gym.error.ResetNeeded("the batch is closed or was not reset")
        return {int(worker): np.flatnonzero(self._owner == worker) for worker in np.unique(self._owner)}

    def _seen(self) -> Tree:
        return tree_map(lambda leaf: leaf[self._slots], self._shared)  # a copy: callers keep observations

    def _start(self, size: int) -> None:
        self.close()
        shared, self._shared = _share(self.spaces.observation, size)
        try:
            for _ in range(min(size, self._most)):
                self._workers.append(Helper(__name__, "serve", [shared]))
                self._workers[-1].connection.send(_Task(**self._task, shared=shared, size=size))
        except BaseException:
            self.close()
            raise
        finally:
            os.close(shared)
        self._room = size

    def _ask(self, messages: Mapping[int, Any]) -> list[Any]:
        """Ask processes side by side. All answers are read before an error among them is raised."""
        asked = [self._workers[worker] for worker in messages]
        try:
            for worker, message in zip(asked, messages.values(), strict=True):
                _send(worker, message)
            answers = [_answer(worker) for worker in asked]
        except BaseException:  # an answer that is not read would pass for the next one
            self.close()
            raise
        for answer in answers:
            if isinstance(answer, RateError):
                raise answer
        return answers


def _answer(worker: Helper) -> Any:
    try:
        return worker.connection.recv()
    except (EOFError, OSError):
        code = worker.close(patience=0)
        raise RateError(
            f"a process that steps environments ended (exit code {code}); with fewer episodes at a time, or with "
            f"{WORKERS}=1, it may have what it needs"
        ) from None


def _owners(size: int, workers: int) -> NDArray[np.int64]:
    """Row to process, in blocks that differ by at most one row."""
    return np.arange(size) * workers // size


def _send(worker: Helper, message: Any) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended, which its answer will tell
        worker.connection.send(message)


def _sendable(make: Make, facts: Sequence[str]) -> dict[str, Any]:
    try:
        return {"make": pickle.dumps(make), "facts": tuple(facts)}
    except (pickle.PicklingError, AttributeError, TypeError) as reason:
        raise ConfigError(f"how the environment is made cannot be sent to another process ({reason})") from None


def _share(space: gym.Space[Any], size: int) -> tuple[int, Tree]:
    """A file without a name, and the observations of so many rows in it."""
    length = _views(space, size, None)[1]
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("observations")
    else:
        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    os.ftruncate(handle, length)
    return handle, _views(space, size, mmap.mmap(handle, length))[0]


def _views(space: gym.Space[Any], size: int, memory: mmap.mmap | None) -> tuple[Tree, int]:
    """The leaves of observations one after the other in the memory, and how much of it they take."""
    end = 0

    def view(leaf: Array) -> Array:
        nonlocal end
        at, end = end, end + -(-leaf.nbytes // ALIGN) * ALIGN
        return leaf if memory is None else np.ndarray(leaf.shape, leaf.dtype, buffer=memory, offset=at)

    return tree_map(view, create_empty_array(space, size)), end


# ---------------------------------------------------------------------------------------------- another process


@dataclass(frozen=True, kw_only=True)
class _Task:
    """What a process is for."""

    make: bytes
    facts: tuple[str, ...]
    shared: int
    size: int
    """Rows of the whole batch."""


def serve(connection: Connection) -> None:
    """Step rows of a batch until the parent hangs up or is gone."""
    task, rows = connection.recv(), None
    try:
        while (message := connection.recv()) is not None:
            try:
                rows = rows or _Rows(task)
                answer = getattr(rows, message[0])(*message[1:])
            except Exception as reason:
                answer = _as_one_line(reason)
            connection.send(answer)
    finally:
        if rows is not None:
            rows.batch.close()


class _Rows:
    """Some rows of a batch; their observations are written into the memory that all share."""

    def __init__(self, task: _Task) -> None:
        self.batch = SerialBatch(pickle.loads(task.make), task.facts)
        memory = mmap.mmap(task.shared, 0)
        self._shared = _views(self.batch.spaces.observation, task.size, memory)[0]

    def reset(self, seeds: NDArray[np.int64], slots: NDArray[np.int64]) -> Mapping[str, Array]:
        self._slots = slots
        self._show(self.batch.reset(seeds))
        return self.batch.info

    def step(self, action: Array) -> tuple[Array, Array, Array]:
        answer = self.batch.step(action)
        self._show(answer.observation)
        return answer.reward, answer.terminated, answer.truncated

    def select(self, rows: NDArray[np.int64]) -> None:
        self.batch.select(rows)
        self._slots = self._slots[rows]

    def _show(self, observation: Tree) -> None:
        for leaf, seen in zip(tree_leaves(self._shared), tree_leaves(observation), strict=True):
            leaf[self._slots] = seen


def _as_one_line(reason: Exception) -> RateError:
    if isinstance(reason, RateError):
        return reason
    text = " ".join(str(reason).split())
    return RateError(f"an environment failed: {type(reason).__name__}{': ' + text if text else ''}")
