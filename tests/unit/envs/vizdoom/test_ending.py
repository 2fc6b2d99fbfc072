"""Engines never outlive the command: not if it is killed, interrupted, or fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("vizdoom", reason="needs the extra vizdoom")
pytest.importorskip("cv2", reason="needs the extra vizdoom")

TEXT = """
import signal, sys
import numpy as np
from rate.envs import ENVS

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
spec = ENVS.get("vizdoom-two-colors")
batch, env = spec.make_batch(), spec.make()
batch.reset(np.arange(3))
env.reset(seed=0)
print("playing", flush=True)
while True:
    batch.step(np.zeros(3, np.int64))
    if env.step(np.int64(0))[2] and "fail" in sys.argv:
        raise SystemError
    if env.steps == 320:
        env.reset(seed=0)
        batch.reset(np.arange(3))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, "fail"], ids=str)
def test_engines_end_with_the_process_that_plays(how: signal.Signals | str, tmp_path: Path) -> None:
    """With it go the processes of the batch, the engines of both, their shared memory and their files."""
    inner = {**os.environ, "TMPDIR": str(tmp_path), "RATE_ENV_WORKERS": "2"}
    shared = set(os.listdir("/dev/shm"))
    process = subprocess.Popen(
        [sys.executable, "-c", TEXT, str(how)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=inner,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "playing\n"
    family = descendants(process.pid)
    assert len(family) == 2 + 2 * 4  # two processes of the batch; four engines, each with its guard
    if isinstance(how, signal.Signals):
        os.killpg(process.pid, how)  # as a terminal does
    assert process.wait(timeout=20) != 0
    until = time.monotonic() + 10
    while (left(family) or list(tmp_path.iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    assert left(family) == []
    assert list(tmp_path.iterdir()) == []
    assert not {name for name in set(os.listdir("/dev/shm")) - shared if "ViZDoom" in name}


def descendants(pid: int) -> list[int]:
    """All that a process has started, and what that has started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (status := state(int(entry.name))):
            parents[int(entry.name)] = int(status[1])
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def left(pids: list[int]) -> list[int]:
    """Those that run."""
    return [pid for pid in pids if (status := state(pid)) and status[0] != "Z"]


def state(pid: int) -> list[str]:
    """State, parent, ... of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
