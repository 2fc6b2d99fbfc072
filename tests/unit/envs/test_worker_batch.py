"""WorkerBatch: the rows of SerialBatch, in processes that end with this one, and errors in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rate.envs.batch import SerialBatch
from rate.envs.worker_batch import WORKERS, WorkerBatch, shared_out
from rate.errors import ConfigError, RateError
from rate.testing.envs import assert_same_tree
from rate.types import Tree

TESTS = str(Path(__file__).parent)
sys.path.append(TESTS)  # where the processes find this file

KILLED, REFUSED, FAILS = 4, 5, 6
"""Actions."""
TEXT = """
import os, signal, sys
import numpy as np
from functools import partial
from test_worker_batch import Walk
from rate.envs.worker_batch import WorkerBatch

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
batch = WorkerBatch(partial(Walk, engine=True), ("pid",), 2)
batch.reset(np.arange(4))
print(*[worker.pid for worker in batch._workers], *batch.info["pid"], flush=True)
while True:
    batch.step(np.zeros(4))
"""


class Walk(gym.Env[Any, Any]):
    """Ends after seed % 5 + 2 steps; may have a process beside it, fail, or take its own process with it."""

    def __init__(self, engine: bool = False) -> None:
        self.observation_space = spaces.Dict(
            {"image": spaces.Box(0, 255, (3, 4, 5), np.uint8), "pair": spaces.Tuple([spaces.Discrete(9)] * 2)}
        )
        self.action_space = spaces.Discrete(4)
        self._engine = engine

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._left = (seed or 0) % 5 + 2
        pid = subprocess.Popen(["sleep", "60"]).pid if self._engine else 0
        return self._see(0), {"colour": "red" if (seed or 0) % 2 else "green", "seed": seed, "pid": pid}

    def step(self, action: Any) -> Any:
        if action == KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        if action > KILLED:
            raise ConfigError("no such colour") if action == REFUSED else ZeroDivisionError("two\nlines")
        self._left -= 1
        return self._see(int(action)), float(self._left), self._left == 0, False, {}

    def _see(self, action: int) -> Tree:
        return {"image": self.np_random.integers(0, 255, (3, 4, 5), np.uint8), "pair": (action, self._left)}


@pytest.fixture
def batch() -> Iterator[WorkerBatch]:
    made = WorkerBatch(Walk, ("colour", "seed"), 2)
    yield made
    made.close()


def test_rows_are_those_of_a_serial_batch_through_resets_and_selections(batch: WorkerBatch) -> None:
    serial, rng = SerialBatch(Walk, ("colour", "seed")), np.random.default_rng(0)
    for seeds in ([3, 8, 0, 7, 5], [1, 2], [9], [4, 3, 2, 1, 0, 7, 8]):
        assert_same_tree(batch.reset(np.array(seeds)), serial.reset(np.array(seeds)))
        assert_same_tree(dict(batch.info), dict(serial.info))
        rows = len(seeds)
        for step in range(4):
            action = rng.integers(4, size=rows)
            one, other = batch.step(action), serial.step(action)
            assert_same_tree(one, other)
            if step == 1:
                kept = rng.permutation(rows)[: max(1, rows // 2)]
                batch.select(kept)
                serial.select(kept)
                rows = len(kept)


def test_answers_are_safe_to_keep(batch: WorkerBatch) -> None:
    first = batch.reset(np.array([3, 4]))
    before = first["image"].copy()
    batch.step(np.zeros(2, np.int64))
    np.testing.assert_array_equal(first["image"], before)


def test_processes_end_with_the_batch(batch: WorkerBatch) -> None:
    batch.reset(np.arange(2))
    pids = [worker.pid for worker in batch._workers]
    assert len(pids) == 2 and alive(pids) == pids
    batch.close()
    assert alive(pids) == []
    with pytest.raises(gym.error.ResetNeeded, match="closed"):
        batch.step(np.zeros(2, np.int64))
    assert batch.reset(np.arange(3))["image"].shape == (3, 3, 4, 5)


def test_errors_are_one_line(batch: WorkerBatch) -> None:
    batch.reset(np.array([3, 8]))
    for action, said in (
        (REFUSED, "^no such colour$"),
        (FAILS, "^an environment failed: ZeroDivisionError: two lines$"),
        (KILLED, r"a process that steps environments ended \(exit code -9\)"),
    ):
        with pytest.raises(RateError, match=said):
            batch.step(np.array([0, action]))


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be sent to another process"):
        WorkerBatch(lambda: Walk(), (), 2)


def test_one_processor_needs_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert isinstance(shared_out(Walk), SerialBatch)
    monkeypatch.setenv(WORKERS, "3")
    assert isinstance(shared_out(Walk), WorkerBatch)
    monkeypatch.setenv(WORKERS, "none")
    with pytest.raises(ConfigError, match=f"{WORKERS} is 'none'; it must be a whole number of at least 1"):
        shared_out(Walk)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_processes_and_what_they_started_end_with_their_parent(number: signal.Signals) -> None:
    """Whatever ends it: the processes hear that the connection is closed, and end their group."""
    path = os.pathsep.join([*sys.path, TESTS])
    parent = subprocess.Popen(
        [sys.executable, "-c", TEXT], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 6
    parent.send_signal(number)
    parent.wait()
    until = time.monotonic() + 10
    while alive(pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(pids) == []


def alive(pids: list[int]) -> list[int]:
    """Those that run; a process that has ended and was not waited for does not."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            continue
        if state != "Z":
            found.append(pid)
    return found
