"""A suite of tiny runs: made once, gone on with after any end, shared between processes, reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from integration.tiny import assert_same_run, config, files
from rate.cli.main import main
from rate.config import RunConfig
from rate.experiment import run_all, run_state, train_run
from rate.experiment import train as train_module
from rate.experiment.many_runs import CLAIM
from rate.recipes import SUITES, Suite, SuiteRun
from rate.training.run_dir import locked

NAMES = ("rate-9/seed0", "rate-9/seed1", "other")
SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from integration.test_suite import long_runs
from rate.cli.main import entry
from rate.recipes import SUITES, Suite

SUITES.add("long", Suite(name="long", summary="", runs=long_runs))
if __name__ == "__main__":
    entry()
"""
LONGEST_WAIT = 300.0


def short(seed: int = 0, **fields: Any) -> RunConfig:
    return config(seed=seed, **{"steps": 4, "validate_every": 4, **fields})


def long_runs() -> list[SuiteRun]:
    """Two runs that take a while, and one that cannot be made."""
    bad = config(data={"options": ("length=9", "colour=red")})
    runs = {f"seed{seed}": config(seed=seed, steps=300, checkpoint_every=10) for seed in (0, 1)}
    return [SuiteRun(name=name, config=item) for name, item in {**runs, "bad": bad}.items()]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, RunConfig]]:
    """A registered suite of three runs."""
    configs = dict(zip(NAMES, (short(0), short(1), short(2, learning_rate=1e-3)), strict=True))
    monkeypatch.setattr(SUITES, "_values", dict(SUITES._values))
    runs = [SuiteRun(name=name, config=item) for name, item in configs.items()]
    SUITES.add("tiny", Suite(name="tiny", summary="Three tiny runs", runs=lambda: runs))
    yield configs


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_a_suite_is_made_once(suite: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["suite", "tiny", "--out", str(tmp_path / "s")]
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert [(run["name"], run["state"]) for run in json.loads(out)["runs"]] == [(name, "done") for name in NAMES]
    assert "[0/3] rate-9/seed0: started" in err and "to go, about" in err
    runs = json.loads((tmp_path / "s" / "report" / "summary.json").read_text())
    assert {row["run"] for row in runs} == {"seed0", "seed1", "other"}
    command = json.loads((tmp_path / "s" / "other" / "environment.json").read_text())["command"]
    assert command == ["rate", *words, "--run", "other"]

    before = {name: files(tmp_path / "s" / name) for name in NAMES}
    assert main(words) == 0
    assert {name: files(tmp_path / "s" / name) for name in NAMES} == before
    out, err = capsys.readouterr()
    assert "3 done" in out and "started" not in err


def test_what_is_chosen(suite: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["suite", "tiny", "--out", str(tmp_path / "s")]
    assert main([*words, "--only", "rate-*", "--no-report", "--json"]) == 0
    assert [run["name"] for run in said(capsys)["runs"]] == list(NAMES[:2])
    assert not (tmp_path / "s" / "report").exists()
    assert main([*words, "--dry-run", "--json"]) == 0
    assert said(capsys) == {NAMES[0]: "done", NAMES[1]: "done", "other": "not begun"}
    assert main([*words, "--run", "other", "--json"]) == 0
    assert [run["name"] for run in said(capsys)["runs"]] == ["other"]
    assert len(json.loads((tmp_path / "s" / "report" / "summary.json").read_text())) == 3  # of the whole suite


def test_states(tmp_path: Path, finished: Path) -> None:
    run, plan = tmp_path / "run", short(steps=8, checkpoint_every=4)
    assert run_state(plan, run).text == "not begun"

    def stop(step: int, metrics: Any) -> None:
        if step == 5:
            raise RuntimeError("as if killed")

    with pytest.raises(RuntimeError):
        train_run(plan, run, on_step=stop)
    assert run_state(plan, run).text == "at step 4 of 8"
    train_run(plan, run, resume=True)
    assert run_state(plan, run).text == "trained, 0 of 1 cases evaluated"
    assert run_all({"run": plan}, tmp_path)["run"].state == "done"
    assert run_state(plan, run).done


def test_a_trained_run_needs_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = short(patience=1, steps=9, validate_every=1, learning_rate=1e-12, warmup_steps=0)
    ended = train_run(plan, tmp_path / "run").step
    assert ended < 9  # out of patience, which is an end too
    monkeypatch.setattr(train_module, "prepare_data", lambda *_: pytest.fail("the data was opened"))
    assert train_run(plan, tmp_path / "run", resume=True).step == ended


def test_another_configuration_is_named_and_the_others_are_made(
    suite: dict[str, RunConfig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "s"
    train_run(replace(suite["other"], seed=7), place / "other")
    assert main(["suite", "tiny", "--out", str(place), "--no-report"]) == 2
    out, err = capsys.readouterr()
    assert f"rate: other: {place / 'other'} was started with another seed; resume it" in err.splitlines()[-1]
    assert "2 done, 1 failed" in out


def test_a_defect_in_one_run_does_not_stop_the_others(
    suite: dict[str, RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = train_module.prepare_data

    def fail_once(*args: Any) -> Any:
        monkeypatch.setattr(train_module, "prepare_data", real)
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(train_module, "prepare_data", fail_once)
    outcomes = run_all(dict(list(suite.items())[:2]), tmp_path)
    assert [outcome.state for outcome in outcomes.values()] == ["failed", "done"]
    assert outcomes[NAMES[0]].message == "ZeroDivisionError: one two"


@pytest.mark.parametrize("lock", [".lock", CLAIM], ids=["by training", "by a suite"])
def test_a_run_of_another_process_is_left_alone(
    lock: str, suite: dict[str, RunConfig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fcntl")
    place = tmp_path / "s" / "other"
    train_run(suite["other"], place)
    with locked(place, lock):
        assert main(["suite", "tiny", "--out", str(tmp_path / "s"), "--run", "other"]) == 0
    out, err = capsys.readouterr()
    assert "other: skipped, another process works on it" in err and "1 locked" in out
    assert not (place / "eval.jsonl").exists()


# -------------------------------------------------------------------------------------------- processes


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    script = folder / "long_suite.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parents[1])))
    command = [sys.executable, str(script), "suite", "long", "--out", str(folder / "s"), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_until(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while not ready():
        assert time.monotonic() < until, "it does not get there"
        time.sleep(0.005)


def begun(folder: Path) -> bool:
    return any((folder / "s").glob("seed*/checkpoints/last"))


def free(run: Path) -> bool:
    try:
        with locked(run, CLAIM), locked(run):
            return True
    except Exception:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_workers_end_with_their_suite_and_it_goes_on(number: signal.Signals, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with start(tmp_path, "--jobs", "2") as process:
        wait_until(lambda: begun(tmp_path))
        os.kill(process.pid, number)
        process.wait(LONGEST_WAIT)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    places = [tmp_path / "s" / f"seed{seed}" for seed in (0, 1)]
    wait_until(lambda: all(free(place) for place in places if place.exists()))
    assert not any(run_state(run.config, tmp_path / "s" / run.name).done for run in long_runs())

    with start(tmp_path, "--jobs", "2", "--json", "--no-report") as process:
        out, err = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 2, err
    states = {run["name"]: run["state"] for run in json.loads(out)["runs"]}
    assert states == {"seed0": "done", "seed1": "done", "bad": "failed"}
    assert err.splitlines()[-1].startswith("rate: bad: unknown option of the expert of tmaze: 'colour'")
    whole = train_run(long_runs()[0].config, tmp_path / "whole").path
    assert_same_run(places[0], whole)
