"""A run that is killed or interrupted goes on with --resume and ends, bit for bit, as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from integration.tiny import assert_same_run, files, metrics, words
from rate.cli.main import main
from rate.experiment import Run

PLAN = {"steps": 120, "checkpoint_every": 15, "validate_every": 25}
LONGEST_WAIT = 120.0


@pytest.fixture(scope="module")
def whole(data_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing interrupts."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert main(words(out, **PLAN)) == 0
    return out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def start(arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rate", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while not ready():
        assert process.poll() is None, f"ended before its time: {process.communicate()}"
        assert time.monotonic() < until, "the process does not get there"
        time.sleep(0.001)


def lines_of(out: Path) -> int:
    log = out / "metrics.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def last_step(out: Path) -> int:
    pointer = out / "checkpoints" / "last"
    return int(pointer.read_text().split()[0].removeprefix("step_")) if pointer.exists() else 0


def kill_when(ready: Callable[[], bool], arguments: list[str], delay: float = 0.0) -> None:
    with start(arguments) as process:
        wait_until(ready, process)
        time.sleep(delay)
        process.kill()
        process.wait()
        assert process.returncode == -signal.SIGKILL, "it ended before it was killed"


def test_killed_before_the_first_checkpoint(whole: Path, out: Path) -> None:
    for _ in range(3):  # under load the first checkpoint may come sooner than the kill
        shutil.rmtree(out, ignore_errors=True)
        kill_when(lambda: lines_of(out) > 0, words(out, **PLAN))
        if last_step(out) == 0:
            break
    assert last_step(out) == 0 and lines_of(out) > 0
    assert main(words(out, "--resume", **PLAN)) == 0
    assert_same_run(out, whole)


def test_killed_at_random_moments(whole: Path, out: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"moments drawn with seed {seed}")
    moment = random.Random(seed)
    kill_when(lambda: last_step(out) > 0, words(out, **PLAN), moment.uniform(0, 0.3))
    for _ in range(2):
        before = last_step(out)
        assert 0 < before < PLAN["steps"]
        # The checkpoint that follows soonest is 15 steps away, the end more than 30: there is room for the delay.
        kill_when(lambda at=before: lines_of(out) > at + 3, words(out, "--resume", **PLAN), moment.uniform(0, 0.15))
    assert main(["train", "--out", str(out), "--resume"]) == 0
    assert_same_run(out, whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_asked_to_stop(number: signal.Signals, whole: Path, out: Path) -> None:
    with start(words(out, **PLAN)) as process:
        wait_until(lambda: lines_of(out) > 20, process)
        process.send_signal(number)
        said, complaint = process.communicate(timeout=LONGEST_WAIT)
    step = last_step(out)
    assert process.returncode == 130
    assert said == ""
    message = f"rate: stopped at step {step} and saved; continue with: rate train --out {out} --resume\n"
    assert complaint == message
    assert 20 <= step < PLAN["steps"]
    assert Run.load(out).step == step
    assert main(["train", "--out", str(out), "--resume"]) == 0
    assert_same_run(out, whole)


def test_a_finished_run_is_left_alone(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    before = files(run)
    assert main(words(run, "--resume", **PLAN)) == 0
    assert files(run) == before
    assert capsys.readouterr().err == ""


def test_resume_of_nothing_starts(data_home: Path, out: Path, finished: Path) -> None:
    assert main(words(out, "--resume")) == 0
    assert_same_run(out, finished)


@pytest.mark.parametrize(
    ("option", "field"),
    [
        (("--train.learning-rate", "0.5"), "train.learning_rate"),
        (("--train.steps", "121"), "train.steps"),
        (("--model.width", "32"), "model.width"),
        (("--seed", "1"), "seed"),
        (("--data.episodes", "100"), "data.episodes"),
    ],
)
def test_another_configuration_is_refused(
    option: tuple[str, str], field: str, run: Path, refused: Callable[..., str]
) -> None:
    refused(["train", "--out", str(run), "--resume", *option], f"another {field};")
    if option[0] != "--train.steps":
        refused([*words(run, "--resume"), *option], f"another {field};")


def test_half_a_line_of_metrics_is_dropped(run: Path, finished: Path) -> None:
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"step": 30, "train/lo')
    assert main(["train", "--out", str(run), "--resume"]) == 0
    assert metrics(run) == metrics(finished)
