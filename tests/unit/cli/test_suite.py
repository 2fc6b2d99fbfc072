"""`rate suite` around its runs: names, patterns, lines and exit codes; nothing is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rate.cli import board
from rate.cli import suite as module
from rate.cli.board import Teller
from rate.cli.main import main
from rate.experiment import Outcome
from rate.recipes import SUITES, Suite, SuiteRun, recipe

CONFIG = recipe("tmaze/rate")


@pytest.fixture(autouse=True)
def suites(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(SUITES, "_values", {})
    monkeypatch.chdir(tmp_path)
    for name, runs in {"three": ("a/0", "a/1", "b"), "twice": ("a", "a")}.items():
        made = [SuiteRun(name=run, config=CONFIG) for run in runs]
        SUITES.add(name, Suite(name=name, summary=f"About {name}", runs=lambda made=made: made))  # type: ignore[misc]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `run_all` is asked for; b fails."""
    kept: dict[str, Any] = {}

    def stand_in(configs: Any, out: Path, **options: Any) -> dict[str, Outcome]:
        kept.update(names=list(configs), out=out, **options)
        failed = {"state": "failed", "message": "no luck"}
        return {name: Outcome(name=name, **failed if name == "b" else {"state": "done"}) for name in configs}  # type: ignore[arg-type]

    monkeypatch.setattr(module, "run_all", stand_in)
    return kept


def test_list_shows_what_a_suite_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "suites"]) == 0
    assert "three  About three" in capsys.readouterr().out
    assert main(["list", "suites", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"suites": ["three", "twice"]}


@pytest.mark.parametrize(
    ("words", "names", "code"),
    [
        ([], ["a/0", "a/1", "b"], 2),
        (["--only", "a/*"], ["a/0", "a/1"], 0),
        (["--only", "*1"], ["a/1"], 0),
        (["--run", "b"], ["b"], 2),
    ],
)
def test_which_runs_and_which_exit_code(words: list[str], names: list[str], code: int, asked: dict[str, Any]) -> None:
    assert main(["suite", "three", "--jobs", "3", "--threads", "1", *words]) == code
    assert asked["names"] == names
    assert (asked["out"], asked["jobs"], asked["threads"]) == (Path("runs/three"), 3, 1)
    assert asked["command"] == ["rate", "suite", "three", "--out", "runs/three"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["thre"], "did you mean 'three'?"),
        (["three", "--run", "c"], "unknown run of the suite: 'c'"),
        (["three", "--only", "x*"], "no run of the suite is named like 'x*'"),
        (["twice"], "two runs of one name"),
        (["three", "--threads", "-1"], "--threads"),
        (["three", "--jobs", "0"], "jobs is 0"),
    ],
)
def test_mistakes(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", *words]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and part in said.err


def test_dry_run_touches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "b").mkdir()
    (tmp_path / "there" / "b" / "config.json").write_text('{"seed": 3}')
    assert main(["suite", "three", "--dry-run", "--out", "there"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["a/0  not begun", "a/1  not begun"] and lines[3] == "0 of 3 runs are done"
    assert lines[2].startswith("b    cannot go on: there/b was started with another ")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["b"]


def test_an_interrupt_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run_all", interrupted)
    assert main(["suite", "three"]) == 130
    assert "start the same command again" in capsys.readouterr().err


def test_failures_come_last_and_in_json(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "three"]) == 2
    said = capsys.readouterr()
    assert said.out == "2 done, 1 failed\n" and said.err.endswith("rate: b: no luck\n")
    assert main(["suite", "three", "--json"]) == 2
    shown = json.loads(capsys.readouterr().out)
    assert shown["report"] is None and shown["runs"][2]["message"] == "no luck"


def test_time_left_is_of_what_was_made(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 30.0, 90.0])
    monkeypatch.setattr(board.time, "monotonic", lambda: next(clock))
    teller = Teller(5)
    teller.end(Outcome(name="old", state="done"))
    for name in ("a", "b"):
        teller.start(name)
    teller.end(Outcome(name="a", state="done", seconds=30.0))
    teller.end(Outcome(name="b", state="locked", message="another process works on it"))
    assert capsys.readouterr().err.splitlines() == [
        "[1/5] 1 of 5 runs need nothing more",
        "[1/5] a: started",
        "[1/5] b: started",
        "[2/5] a: done in 30.0 s; 3 to go, about 1 min 30 s",
        "[3/5] b: skipped, another process works on it; 2 to go, about 3 min 00 s",
    ]


def test_fields_change_all_runs_into_a_directory_of_their_own(asked: dict[str, Any], monkeypatch: Any) -> None:
    made: dict[str, Any] = {}
    stand_in = module.run_all

    def run_all(configs: Any, *rest: Any, **more: Any) -> Any:
        made.update(configs)
        return stand_in(configs, *rest, **more)

    monkeypatch.setattr(module, "run_all", run_all)
    words = ["--train.steps", "7", "--only", "a/*", "--train.segment-lens", "5", "10", "--eval.cases=length=9"]
    assert main(["suite", "three", *words]) == 0
    assert asked["out"] == Path("runs/three,train.steps=7,train.segment_lens=5-10,eval.cases=length=9")
    assert set(made) == {"a/0", "a/1"}
    for config in made.values():
        assert (config.train.steps, config.train.segment_lens, config.eval.cases) == (7, (5, 10), ("length=9",))
        assert config.model == CONFIG.model
    again = asked["command"]
    assert again[3:5] == ["--train.steps", "7"] and main([*again[1 : again.index("--out")], "--only", "a/*"]) == 0


def test_a_field_that_a_run_does_not_have_is_refused(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "three", "--model.wings", "2"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rate: a/0: ") and "--model.wings" in said and said.count("\n") == 1 and not asked
