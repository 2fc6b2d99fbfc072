"""The cross plot of the memory condition: which point is where, what the table says, and when there is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rate.reports import read_runs, write_report
from rate.reports.figures.recall import cross_plot, crosses, recall_table, recall_words
from rate.reports.reading.scores import experiments

Pairs = Sequence[tuple[float, float]]


def lines(pairs: Pairs, case: str = "length=90", cues: Sequence[str] = ("0", "1")) -> list[dict[str, Any]]:
    """What training logs: the two probabilities at steps 10, 20, ..."""
    return [
        {"step": 10 * at, "train/loss": 1.0}
        | {f"eval/{case}/recall/{cue}": value for cue, value in zip(cues, pair, strict=True)}
        | {f"eval/{case}/recall/sum": sum(pair), f"eval/{case}/success_rate": 1.0}
        for at, pair in enumerate(pairs, start=1)
    ]


LEARNT: Pairs = [(0.4, 0.5), (0.6, 0.7), (1.0, 0.9)]
FORGOT: Pairs = [(0.4, 0.6), (0.7, 0.3), (0.2, 0.8)]


@pytest.fixture
def panels(make_run: Any) -> Any:
    """Two runs of one model and one of another, in two cases."""
    both = lines(LEARNT) + lines(FORGOT, "length=180")
    paths = [make_run("rate-0", metrics=both), make_run("rate-1", seed=1, metrics=lines(LEARNT[:2]))]
    paths.append(make_run("dt-0", model="dt", metrics=lines(LEARNT) + lines(FORGOT, "length=180")))
    return crosses(experiments(read_runs(paths)))


def test_a_panel_per_model_and_case(panels: Any) -> None:
    found = [(panel.model, panel.case, len(panel.courses)) for panel in panels]
    assert found == [
        ("rate", "length=90", 2),
        ("rate", "length=180", 1),
        ("dt", "length=90", 1),
        ("dt", "length=180", 1),
    ]
    assert panels[0].courses[0].steps == (10, 20, 30)
    assert list(zip(panels[0].courses[0].first, panels[0].courses[0].second, strict=True)) == LEARNT


def test_sums_and_correlations(panels: Any) -> None:
    learnt, forgot = panels[0].facts(), panels[3].facts()
    assert learnt["last"] == pytest.approx([0.8, 0.8]) and learnt["sum"] == pytest.approx(1.6)  # 1.9 and 1.3
    one = np.corrcoef(np.array(LEARNT).T)[0, 1]
    assert learnt["correlation"] == pytest.approx((one + 1.0) / 2)  # two points are always in line
    assert learnt["runs"]["rate-0"] == {"sum": pytest.approx(1.9), "correlation": pytest.approx(one)}
    assert forgot["sum"] == pytest.approx(1.0) and forgot["correlation"] == pytest.approx(-1.0)


def test_the_table_and_the_words(panels: Any) -> None:
    rows = recall_table(panels).rows
    assert rows[3] == ("dt", "length=180", "1", "0.20", "0.80", "1.00", "-1.00")
    assert "dt, length=180: the two sum to 1.00 at the end." in recall_words(panels)


def test_constant_probabilities_have_no_correlation(make_run: Any) -> None:
    (panel,) = crosses(experiments(read_runs([make_run("a", metrics=lines([(0.5, 0.5), (0.5, 0.6)]))])))
    assert panel.facts()["correlation"] is None
    assert recall_table([panel]).rows[0][-1] == "-"


def test_the_beginning_is_left_out(make_run: Any) -> None:
    logged = [*lines(LEARNT), {"step": 1500, "train/loss": 0.1}]
    (panel,) = crosses(experiments(read_runs([make_run("a", metrics=logged)])))
    assert panel.courses[0].steps == (20, 30)


def test_the_figure_shows_the_points_and_the_diagonal(panels: Any) -> None:
    figure = cross_plot(panels)
    assert figure is not None
    titles = {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}
    shown = {title.partition("\n")[0]: axes for title, axes in titles.items()}
    assert list(shown) == ["rate: length=90", "rate: length=180", "dt: length=90", "dt: length=180"]
    assert all("\nsum " in title for title in titles)
    axes = shown["dt: length=180"]
    assert axes.lines[0].get_xydata().tolist() == [[0, 1], [1, 0]]
    assert axes.collections[0].get_offsets().tolist() == [list(pair) for pair in FORGOT]
    first, *_, last = axes.collections[0].get_facecolors()
    assert first[2] > first[0] and last[0] > last[2], "from blue to red"


def test_only_what_has_two_cues_is_drawn(make_run: Any) -> None:
    three = lines([(0.3, 0.3, 0.3)], cues=("0", "1", "2"))  # type: ignore[list-item]
    assert crosses(experiments(read_runs([make_run("a", metrics=three), make_run("b", seed=1)]))) == []
    assert cross_plot([]) is None


def test_a_report_holds_it_and_a_later_one_without_it_does_not(make_run: Any, tmp_path: Path) -> None:
    records = make_run.episodes("length-90", 5, 10)
    out = tmp_path / "out"
    report = write_report([make_run("a", metrics=lines(LEARNT), records=records)], out)
    assert (out / "recall.png").stat().st_size > 10_000
    assert json.loads((out / "recall.json").read_text())[0]["sum"] == pytest.approx(1.9)
    text, page = report.markdown.read_text(), report.page.read_text()
    assert "(recall.png)" in text and "| rate | length=90 | 1 | 1.00 | 0.90 | 1.90 |" in text
    assert "id='recall'" in page and "the two sum to 1.90 at the end" in page
    write_report([make_run("b", records=records)], out)
    assert not (out / "recall.png").exists() and not (out / "recall.json").exists()
