"""The command line around its commands: exit codes, help, streams, and options that are taken out by hand."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rate import ENVS, MODELS, RECIPES, __version__
from rate.bench import measuring, run
from rate.cli import console, doctor
from rate.cli import main as cli
from rate.cli.console import bar
from rate.cli.listing import KINDS
from rate.cli.main import build, main
from rate.cli.parse import set_threads
from rate.cli.train import read_arguments
from rate.errors import ConfigError, DataError
from rate.registry import Registry, families
from rate.system.signals import Interrupted
from rate.training.run_dir import RunDir

torch.set_num_threads(1)

COMMANDS = build().names()


def fake(monkeypatch: pytest.MonkeyPatch, error: BaseException | None) -> None:
    """One command `x` that raises."""

    def command(args: Any) -> None:
        if error is not None:
            raise error

    table: Registry[Any] = Registry("command")
    table.add("x", command)
    monkeypatch.setattr(cli, "build", lambda: table)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (None, 0, ""),
        (DataError("broken\n  in two"), 2, "rate: broken in two\n"),
        (OSError(28, "No space left on device", "/x/y"), 2, "rate: /x/y: No space left on device\n"),
        (OSError("odd"), 2, "rate: file: odd\n"),
        (Interrupted("saved"), 130, "rate: saved\n"),
        (KeyboardInterrupt(), 130, "rate: interrupted\n"),
    ],
)
def test_exit_codes(
    error: BaseException | None,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake(monkeypatch, error)
    assert main(["x"]) == code
    assert capsys.readouterr() == ("", line)


def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["x"])


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_names_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.err == "" and all(f"\n  {command} " in said.out for command in COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rate {__version__}\n"


@pytest.mark.parametrize(
    "words", [["train", "tmaze/rate"], *([name] for name in COMMANDS if name not in ("data", "train"))]
)
def test_help_of_a_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leave:
        main([*words, "--help"])
    assert leave.value.code == 0
    assert f"rate {' '.join(words)}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("words", [["train"], ["train", "--help"], ["data"], ["data", "-h"]])
def test_usage_of_the_others(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(f"usage: rate {words[0]}")


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert names["envs"] == ENVS.names() and names["models"] == MODELS.names() and names["recipes"] == RECIPES.names()
    assert main(["list", "envs", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["envs"]


def test_environments_are_listed_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "envs"]) == 0
    listed, _, options = capsys.readouterr().out.partition("\n\n")
    assert all(name in listed for name in ENVS)
    walkers = next(line for line in options.splitlines() if "mujoco" in line)
    assert "grade=expert" in walkers and "observe=all" in walkers and "drop=0.0" in walkers
    assert any("atari" in line and "spread=0.2" in line and "sticky=0.0" in line for line in options.splitlines())


@pytest.mark.parametrize("kind", ["envs", "models", "suites", "valves", "encoders", "objectives"])
def test_list_says_what_each_is(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", kind]) == 0
    listed = capsys.readouterr().out.partition("\n\n")[0].splitlines()  # options of environments follow
    message = dict(line.split(maxsplit=1) for line in listed if not line.startswith(" "))
    assert list(message) == KINDS[kind].names() and all(len(text) > 10 for text in message.values())


def test_list_gathers_many_names_and_shows_them_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert f"envs: {', '.join(families(ENVS.names()))}" in out and "popgym/... (48)" in out
    assert main(["list", "recipes"]) == 0
    assert capsys.readouterr().out.splitlines() == RECIPES.names()


def test_collect_and_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "set")
    assert main(["collect", "tmaze", "--episodes", "6", "--set", "length=9", "--out", where, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == "" and json.loads(said.out)["episodes"] == 6
    assert main(["data", "info", where, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["environment"] == "tmaze" and facts["episodes"] == 6 and facts["options"]["length"] == 9


def test_doctor_finds_this_installation_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert not [finding for finding in findings if finding["state"] == "bad"]
    assert {"device", "data directory"} <= {finding["what"] for finding in findings}


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_doctor_fails_where_something_is_bad(
    more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [doctor.Finding(what="disk", state="bad", detail="gone"), doctor.Finding(what="x", state="ok", detail="y")]
    monkeypatch.setattr(doctor, "diagnose", lambda: found)
    assert main(["doctor", *more]) == 1
    assert "gone" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "diagnose", lambda: found[1:])
    assert main(["doctor", *more]) == 0


def test_figures_of_the_bench_are_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"threads-1": {"training": {"peak_mib": None, "seconds": 0.5}}}
    monkeypatch.setattr(run, "run_bench", lambda **_: figures)
    where = tmp_path / "not" / "there" / "x.json"
    assert main(["bench", "--json", str(where)]) == 0
    assert json.loads(where.read_text()) == figures
    assert " - " in capsys.readouterr().out
    assert main(["bench", "--json", str(where / "x.json")]) == 2  # told before anything is measured


def test_memory_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (measuring.peak_mib() or 0) > 50
    monkeypatch.setattr(measuring, "STATUS", Path("not-there"))
    assert (measuring.peak_mib() or 0) > 50
    monkeypatch.setitem(sys.modules, "resource", None)
    assert measuring.peak_mib() is None


def test_an_interrupt_passes_by_those_who_catch_everything() -> None:
    assert not issubclass(Interrupted, Exception)
    assert "--out '/a b/c' --resume" in RunDir(Path("/a b/c")).resume_command()


# ------------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("words", "attribute", "value"),
    [
        (["--out", "a"], "out", Path("a")),
        (["--out=a=b"], "out", Path("a=b")),
        (["--threads", "3"], "threads", 3),
        (["--threads=2"], "threads", 2),
        ([], "threads", 0),
        (["--resume"], "resume", True),
        ([], "resume", False),
        (["--json"], "json", True),
        ([], "out", Path("runs/tmaze/rate-seed0")),
        (["--seed", "4"], "out", Path("runs/tmaze/rate-seed4")),
    ],
)
def test_options_of_train(words: list[str], attribute: str, value: Any) -> None:
    assert getattr(read_arguments(["tmaze/rate", *words]), attribute) == value


def test_fields_edit_the_recipe() -> None:
    words = ["tmaze/rate", "--train.steps", "7", "--model.valve-heads", "2", "--train.bptt-segments", "1"]
    config = read_arguments([*words, "--eval.cases", "length=9", "length=12", "--model.dropout", "0"]).config
    assert (config.train.steps, config.train.bptt_segments, config.eval.cases) == (7, 1, ("length=9", "length=12"))
    assert config.model.valve_heads == 2 and config.model.dropout == 0.0  # type: ignore[attr-defined]
    assert config.recipe == "tmaze/rate"


@pytest.mark.parametrize("words", [["--out"], ["tmaze/rate", "--threads"], ["tmaze/rate", "--out", "--resume"]])
def test_an_option_without_its_value(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="needs a value"):
        read_arguments(words)


@pytest.mark.parametrize("count", [-1, -8])
def test_threads_below_zero(count: int) -> None:
    with pytest.raises(ConfigError, match="--threads"):
        set_threads(count)


def test_zero_threads_leave_torch_alone() -> None:
    before = torch.get_num_threads()
    set_threads(0)
    assert torch.get_num_threads() == before


def test_a_bar_that_nobody_sees_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    steps: list[Callable[..., Any]] = []
    with bar("working", 3) as progress:
        steps.append(progress.on_step)
        progress.on_step(1, {"train/loss": 0.5, "valid/loss": 0.25})
        progress.on_episode(2, 3)
        progress.on_env_step(ENVS.get("tmaze").case(length=9), 9)
    assert steps and capsys.readouterr() == ("", "")


def test_a_line_of_progress_names_no_speed_before_it_is_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that just began, also one that goes on from step 14, has none."""
    monkeypatch.setattr(console, "EVERY", 0.0)
    monkeypatch.setattr(console, "MEASURED", 0.2)
    with bar("training", 30) as progress:
        progress.to(15, 30, "training")
        time.sleep(0.25)
        progress.to(16, 30, "training")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "training 15/30" and second.startswith("training 16/30, ")
    assert 0 < float(second.split()[2].removesuffix("/s,")) <= 8  # two steps in a quarter of a second or more
