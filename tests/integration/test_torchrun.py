"""`torchrun -m rate train`: two processes train as one does, one writes, and a killed one costs nothing but time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from integration.tiny import assert_same_run, metrics, tensors, words
from rate.cli.board import last_step
from rate.cli.main import main

LONGEST_WAIT = 120.0
SETTLED = ("--model.dropout", "0", "--model.memory-noise", "0")
"""Each process draws its own numbers, so nothing is drawn."""


def started(arguments: list[str], *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, *options, "-m", "rate", *arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def ended(process: subprocess.Popen[str]) -> str:
    try:
        said, _ = process.communicate(timeout=LONGEST_WAIT)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends those that it has started
        raise
    assert process.returncode == 0, said
    return said


def child(process: subprocess.Popen[str], rank: int) -> int:
    """The process with this rank that torchrun has started."""
    for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        if f"\0RANK={rank}\0" in Path(f"/proc/{pid}/environ").read_text():
            return int(pid)
    raise AssertionError("there is no such process")


def test_two_processes_train_as_one_does(tmp_path: Path) -> None:
    assert main(words(tmp_path / "one", *SETTLED, steps=50)) == 0
    said = ended(started(words(tmp_path / "two", *SETTLED, steps=50)))
    assert said.count("trained to step 50") == 1
    one, two = metrics(tmp_path / "one"), metrics(tmp_path / "two")
    assert sum("train/loss" in line for line in two) == 50
    for expected, found in zip(one, two, strict=True):
        assert found == pytest.approx(expected, abs=1e-5)
    weights = tensors(tmp_path / "one")
    assert all(value.allclose(weights[name], atol=1e-4) for name, value in tensors(tmp_path / "two").items())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_after_a_killed_process_all_go_on_to_the_same_bits(tmp_path: Path) -> None:
    """With dropout, of which each process draws its own."""
    ended(started(words(tmp_path / "whole", steps=100)))
    process = started(words(tmp_path / "killed", "--resume", steps=100), "--max-restarts", "1")
    until = time.monotonic() + LONGEST_WAIT
    while last_step(tmp_path / "killed")[0] < 20 and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(child(process, 1), signal.SIGKILL)
    said = ended(process)
    assert said.count("trained to step 100") == 1
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize(
    ("environment", "more", "line"),
    [
        ({"RANK": "0", "WORLD_SIZE": "9"}, {}, "train.batch_size = 8 leaves some of 9 processes without a window"),
        ({"RANK": "1", "WORLD_SIZE": "9"}, {}, ""),
        ({"RANK": "1", "WORLD_SIZE": "2"}, {"steps": 0}, ""),
        ({"RANK": "3", "WORLD_SIZE": "2"}, {}, "RANK is 3 of WORLD_SIZE 2"),
        ({"RANK": "a", "WORLD_SIZE": "2"}, {}, "must be whole numbers"),
    ],
)
def test_mistakes_are_one_line_of_the_first(
    environment: dict[str, str],
    more: dict[str, Any],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(words(tmp_path / "run", **more)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == bool(line) and line in said
    assert not (tmp_path / "run").exists()
