"""A collection that is killed at any moment goes on, and ends with the files of one that was left alone."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rate.data.collect import PART, collect
from rate.envs import ENVS
from rate.envs.spec import CollectRequest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

EPISODES = 5 * PART + 7
LONGEST_WAIT = 300.0
SCRIPT = """
import sys, time
from dataclasses import replace
from rate.cli.main import entry
from rate.envs import ENVS

def slowly(request):
    for trajectory in TMAZE.expert(request):
        time.sleep(0.004)
        yield trajectory

TMAZE = ENVS.get("tmaze")
ENVS._values["tmaze"] = replace(TMAZE, expert=slowly)
if __name__ == "__main__":
    entry()
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[[], subprocess.Popen[str]]:
    """Starts `rate collect` with two workers and a slow expert, into tmp_path / "set"."""
    script = tmp_path / "slow.py"
    script.write_text(SCRIPT)
    words = f"collect tmaze --episodes {EPISODES} --set length=5 --workers 2 --out".split()
    command = [sys.executable, str(script), *words, str(tmp_path / "set")]
    return lambda: subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + LONGEST_WAIT
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it has not come so far"
        time.sleep(0.01)


def working(home: Path) -> bool:
    """Both workers have begun a part."""
    return len(list(home.glob(".set.*.parts/attempt-*/part-*"))) >= 2


def parts(home: Path) -> list[Path]:
    return sorted(home.glob(".set.*.parts/part-*"))


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def a_worker_of(process: subprocess.Popen[str]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    named = {int(child): Path(f"/proc/{child}/cmdline").read_text() for child in children}
    return next(child for child, words in named.items() if "spawn_main" in words)


def told(err: str) -> list[str]:
    """Lines of standard error without those of progress, which a slow machine shows."""
    return [line for line in err.splitlines() if not line.startswith("collecting ")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_killed_at_random(seed: int, start: Callable[[], subprocess.Popen[str]], tmp_path: Path) -> None:
    rng = random.Random(seed)
    for _ in range(3):
        process = start()
        until(lambda: working(tmp_path), process)
        time.sleep(rng.uniform(0, 1.5))
        process.kill()
        process.communicate()
        assert not (tmp_path / "set").exists() or process.returncode == 0
    last = start()
    out, err = last.communicate(timeout=LONGEST_WAIT)
    assert last.returncode == 0, err
    assert f"{EPISODES} episodes" in out and told(err) == []
    assert sorted(inside.name for inside in tmp_path.iterdir()) == ["set", "slow.py"]
    request = CollectRequest(episodes=EPISODES, seed=0, kwargs={"length": 5})
    alone = collect(ENVS.get("tmaze"), request, tmp_path / "alone")
    assert contents(tmp_path / "set") == contents(alone.path)


@pytest.mark.slow
def test_stopped_by_the_user(start: Callable[[], subprocess.Popen[str]], tmp_path: Path) -> None:
    process = start()
    until(lambda: len(parts(tmp_path)) >= 1, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONGEST_WAIT)
    kept = parts(tmp_path)
    assert process.returncode == 130 and out == ""
    line = (
        f"rate: stopped; {len(kept) * PART} of {EPISODES} episodes are kept, start the same collection again to go on\n"
    )
    assert err == line
    assert not list(tmp_path.glob(".set.*.parts/attempt-*"))
    made = [part.stat().st_mtime_ns for part in kept]

    process = start()
    until(lambda: working(tmp_path), process)
    assert [part.stat().st_mtime_ns for part in kept] == made  # they are not made again
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the worker in /proc")
def test_a_worker_that_is_killed_is_told(start: Callable[[], subprocess.Popen[str]], tmp_path: Path) -> None:
    process = start()
    until(lambda: working(tmp_path), process)
    subprocess.run(["kill", "-9", str(a_worker_of(process))], check=True)
    _, err = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 2
    [line] = told(err)
    assert line.startswith("rate: a worker") and "code -9" in line and "start again" in line
