"""Loggers: an own one gets what metrics.jsonl gets; none is used that only a file names; none stops a training."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from integration.tiny import assert_same_run, config, words
from rate.cli.main import main
from rate.experiment import train_run
from rate.experiment.train import _named_again
from rate.training.loggers import LOGGERS, Logged, Logger


class Kept:
    """Keeps everything; `failing` from that step on."""

    made: list[Kept] = []

    def __init__(self, run: Logged, failing: float = float("inf")) -> None:
        self.run, self.lines, self.closed, self.failing = run, list[dict[str, float]](), 0, failing
        self.made.append(self)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        if step >= self.failing:
            raise OSError("no network")
        self.lines.append({"step": step, **metrics})

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(LOGGERS, "_values", dict(LOGGERS._values))
    LOGGERS.add("kept", Kept)
    LOGGERS.add("failing", lambda run: Kept(run, failing=3))
    Kept.made.clear()
    yield


def lines(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_an_own_logger_gets_every_line_and_changes_no_bit(finished: Path, tmp_path: Path) -> None:
    train_run(config(loggers=("kept",)), tmp_path / "run")
    (kept,) = Kept.made
    assert kept.lines == lines(tmp_path / "run") and kept.closed == 1
    assert kept.run.name == "run" and kept.run.config["train"]["loggers"] == ["kept"]
    assert_same_run(tmp_path / "run", finished)


def test_a_logger_that_fails_is_left_out(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match="failing failed and is left out: no network"):
        train_run(config(steps=5, loggers=("failing", "kept")), tmp_path / "run")
    failed, kept = Kept.made
    assert [line["step"] for line in failed.lines] == [1, 2] and kept.lines == lines(tmp_path / "run")


def test_a_logger_that_a_file_names_is_used_only_if_the_user_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    wanted = config(steps=2, loggers=("kept",))
    assert _named_again(wanted, ["kept"]) == ("--train.loggers", "kept")
    stop = RuntimeError("stop")

    def stopping(step: int, metrics: Mapping[str, float]) -> None:
        raise stop

    with pytest.raises(RuntimeError):
        train_run(wanted, out, on_step=stopping)
    Kept.made.clear()
    assert main(["train", "--out", str(out), "--resume"]) == 0
    assert "a file names the logger kept, which is not used" in capsys.readouterr().err and not Kept.made
    assert main(["eval", str(out)]) == 0


def test_resume_with_the_logger_named_uses_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(RuntimeError):
        train_run(config(steps=2, loggers=("kept",)), out, on_step=lambda *_: (_ for _ in ()).throw(RuntimeError))
    Kept.made.clear()
    assert main(["train", "--out", str(out), "--resume", "--train.loggers", "kept"]) == 0
    assert Kept.made and Kept.made[0].closed == 1


def test_names_and_packages_that_are_not_there(tmp_path: Path, refused: Callable[..., str]) -> None:
    refused([*words(tmp_path / "run"), "--train.loggers", "wand"], "unknown logger", "'wandb'")
    missing = [name for name in ("wandb", "mlflow", "trackio") if not importable(name)]
    for name in missing:
        refused([*words(tmp_path / "run"), "--train.loggers", name], f"pip install 'rate-rl[{name}]'")


def importable(name: str) -> bool:
    return name in sys.modules or any((Path(place) / name).is_dir() for place in sys.path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wandb", "mlflow", "trackio"])
def test_a_real_one_writes_on_this_disk(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(name)
    for variable in ("WANDB_MODE", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setitem(os.environ, "WANDB_SILENT", "true")
    logger: Logger = LOGGERS.get(name)(Logged(path=tmp_path, config={"train": {"steps": 2}}))
    logger.log(1, {"train/loss": 0.5})
    logger.close()
    assert [path for path in tmp_path.rglob("*") if path.is_file()]
