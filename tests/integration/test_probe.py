"""`rate probe`: files that parse and show something, and one line where there is nothing to probe."""

from __future__ import annotations

import io
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.image import imread

from integration.tiny import config
from rate.cli.main import main
from rate.evaluation import probes
from rate.evaluation.intervals import Interval
from rate.experiment import train_run
from rate.models import MODELS
from rate.reports.figures.preservation import PreservationCurves, preservation_figure

Refused = Callable[..., str]


def test_a_run_is_probed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", str(run), "--set", "length=12", "--episodes", "4", "--json"]) == 0
    said = capsys.readouterr()
    facts = json.loads(said.out)
    assert said.err == "" and facts == json.loads((run / "probe" / "probe.json").read_text())
    assert (facts["case"], facts["episodes"], facts["memory_tokens"], facts["step"]) == ("length=12", 4, 2, 30)
    assert [update["number"] for update in facts["updates"]] == [1, 2, 3]  # 12 steps, segments of 3
    assert facts["retention"]["from_update"] == 2
    assert imread(io.BytesIO((run / "probe" / "preservation.png").read_bytes()), format="png").std() > 0.01
    assert (run / "probe" / "preservation.svg").stat().st_size > 1000
    assert not (run / "eval.jsonl").exists()


def test_the_table_and_another_place(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", str(run), "--checkpoint", "best", "--episodes", "2", "--out", str(tmp_path / "a" / "b")]) == 0
    said = capsys.readouterr().out
    assert "bound (right)" in said and "from update 2 on: relative change" in said
    facts = json.loads((tmp_path / "a" / "b" / "probe.json").read_text())
    assert (facts["case"], facts["checkpoint"]) == ("length=9", "best")
    assert not (run / "probe").exists()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--episodes", "0"], ("eval.episodes is 0",)),
        (["--set", "lenght=9"], ("did you mean 'length'",)),
        (["--set", "length=3"], ("no episode of length=3 is longer than a segment of 3 steps",)),
        (["--checkpoint", "step_7"], ("step_7",)),
        (["--out", "run/config.json"], ("config.json is a file",)),
    ],
)
def test_what_cannot_be_probed(
    words: list[str], parts: tuple[str, ...], run: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    refused(["probe", "run", *words], *parts)


def test_no_run(refused: Refused) -> None:
    refused(["probe", "nowhere"], "nowhere is not a run directory")
    refused(["probe"], "required", "rate probe --help")


def test_a_checkpoint_alone_needs_a_place(run: Path, tmp_path: Path, refused: Refused) -> None:
    name = (run / "checkpoints" / "last").read_text().split()[0]
    alone = shutil.copytree(run / "checkpoints" / name, tmp_path / "alone")
    refused(["probe", str(alone)], "checkpoint on its own; give --out")
    assert main(["probe", str(alone), "--episodes", "2", "--out", str(tmp_path / "out")]) == 0


def test_a_model_without_memory(tmp_path: Path, refused: Refused) -> None:
    base = config(steps=2)
    model = MODELS.get("trxl")(9, layers=1, width=16, heads=2, head_width=8)
    train_run(replace(base, model=model), tmp_path / "trxl")
    refused(["probe", str(tmp_path / "trxl")], "carries no memory embeddings")


def curves(values: list[float], bound: bool) -> PreservationCurves:
    line = [Interval(value, value, value) for value in values]
    return PreservationCurves(
        updates=range(1, len(values) + 1),
        change=line,
        moved=line,
        bound=line if bound else None,
        alignment=line if bound else None,
    )


def test_the_figure_has_a_panel_for_alpha_and_a_log_axis_where_it_can() -> None:
    figure = preservation_figure(curves([0.5, 0.1], bound=True), "x")
    assert [axes.get_yscale() for axes in figure.axes] == ["log", "linear"]
    assert len(figure.axes[0].lines) == 3
    (alone,) = preservation_figure(curves([0.5, 0.0], bound=False), "x").axes
    assert alone.get_yscale() == "linear" and len(alone.lines) == 2


def test_memory_that_has_grown_past_all_bounds(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = probes.measure
    monkeypatch.setattr(probes, "measure", lambda *given: {n: v * math.nan for n, v in measured(*given).items()})
    assert main(["probe", str(run), "--set", "length=12", "--episodes", "2"]) == 0
    facts = json.loads((run / "probe" / "probe.json").read_text())
    assert facts["retention"]["change"] == "nan"
