"""Calls from Python with bad arguments: a RateError with words, as on the command line; and writes that cannot be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rate
from integration.tiny import config
from rate.cli.main import main
from rate.errors import RateError
from rate.experiment import Run, train_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    chosen = config(steps=1)
    object.__setattr__(chosen, "env", rate.EnvConfig(name="tmaze", success="length >= 9"))
    return train_run(chosen, tmp_path_factory.mktemp("mistakes") / "run")


CALLS: dict[str, tuple[Callable[[Run], Any], str]] = {
    "load": (lambda run: rate.load(3), "path"),  # type: ignore[arg-type]
    "checkpoint": (lambda run: rate.load(run.path, 5), "step_N"),  # type: ignore[arg-type]
    "recipe": (lambda run: rate.recipe(5), "unknown recipe"),  # type: ignore[arg-type]
    "changes": (lambda run: rate.recipe("tmaze/rate", ["x"]), "changes"),  # type: ignore[arg-type]
    "name of a change": (lambda run: rate.recipe("tmaze/rate", {3: 4}), "changes"),  # type: ignore[dict-item]
    "value of a change": (lambda run: rate.recipe("tmaze/rate", {"train.steps": "x"}), "type int"),
    "no configuration": (lambda run: rate.train_run("tmaze/rate", "out"), "configuration"),  # type: ignore[arg-type]
    "no place": (lambda run: rate.train_run(config(), None), "path"),  # type: ignore[arg-type]
    "cases": (lambda run: run.evaluate(5), "length=90"),  # type: ignore[arg-type]
    "case": (lambda run: run.evaluate([5]), "length=90"),  # type: ignore[list-item]
    "how": (lambda run: run.evaluate(config="x"), "EvalConfig"),  # type: ignore[arg-type]
    "target": (lambda run: run.actor("x"), "number"),  # type: ignore[arg-type]
    "runs": (lambda run: rate.write_report([5], "report"), "path"),  # type: ignore[list-item]
    "report": (lambda run: rate.write_report([run.path], None), "path"),  # type: ignore[arg-type]
    "steps": (lambda run: rate.TrainConfig(steps=1.5), "train.steps"),  # type: ignore[arg-type]
    "rate": (lambda run: rate.TrainConfig(learning_rate="a"), "train.learning_rate"),  # type: ignore[arg-type]
    "episodes": (lambda run: rate.DataConfig(episodes="x"), "data.episodes"),  # type: ignore[arg-type]
    "batch": (lambda run: rate.EvalConfig(batch=None), "eval.batch"),  # type: ignore[arg-type]
    "environment": (lambda run: rate.EnvConfig(name=5), "env.name"),  # type: ignore[arg-type]
    "width": (lambda run: rate.RateConfig(width="x"), "model.width"),  # type: ignore[arg-type]
    "horizon": (lambda run: rate.suggest_config("x", True), "horizon"),  # type: ignore[arg-type]
    "parts": (lambda run: rate.RunConfig(recipe="x", env="tmaze", model="rate"), "env"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_bad_arguments(name: str, run: Run) -> None:
    call, said = CALLS[name]
    with pytest.raises(RateError) as caught:
        call(run)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_run_knows_the_return_to_ask_for(run: Run) -> None:
    assert run.actor().target_return == 1.0 and run.actor(0.5).target_return == 0.5


def test_the_success_of_a_run_is_what_its_configuration_says(run: Run) -> None:
    (result,) = run.evaluate("length=9")
    rate_of = [record.length >= 9 for record in result.records]
    assert [record.success for record in result.records] == rate_of and any(rate_of)


WORK: dict[str, Callable[[Path, Path], list[str]]] = {
    "eval": lambda run, at: ["eval", str(run), "--episodes", "1"],
    "report": lambda run, at: ["report", str(run), "--out", str(at)],
    "play": lambda run, at: ["play", "--run", str(run), "--out", str(at / "film.gif")],
    "probe": lambda run, at: ["probe", str(run), "--out", str(at)],
}


@pytest.mark.parametrize("how", ["link", "directory"])
@pytest.mark.parametrize("name", WORK)
def test_what_cannot_be_written_is_found_before_the_work(
    name: str, how: str, run: Run, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rate.models.actor.Actor.act", lambda *_: pytest.fail("the work has begun"))
    file = {"eval": run.path / "eval.jsonl", "report": tmp_path / "report.md", "play": tmp_path / "film.gif"}
    place = file.get(name, tmp_path / "probe.json")
    kept = place.read_bytes() if place.exists() else None
    place.unlink(missing_ok=True)
    place.symlink_to(tmp_path / "elsewhere") if how == "link" else place.mkdir()
    try:
        assert main(WORK[name](run.path, tmp_path)) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1 and str(place) in line and not (tmp_path / "elsewhere").exists()
    finally:
        place.unlink() if how == "link" else os.rmdir(place)
        if kept is not None:
            place.write_bytes(kept)
