"""The heat map: which cell holds which score, where it is hatched, and when there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rate.reports import read_runs, write_report
from rate.reports.figures.heatmap import heatmap, heatmap_words
from rate.reports.figures.plots import render
from rate.reports.reading.scores import experiments


def panels(figure: Any) -> dict[str, Any]:
    """Title to axes of the panels, without the colour bar and empty places."""
    return {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}


def texts(axes: Any) -> dict[tuple[float, float], str]:
    return {text.get_position(): text.get_text() for text in axes.texts}


def test_cells_hold_the_mean_score_by_training_and_evaluation(make_run: Any) -> None:
    figure = heatmap(experiments(read_runs(make_run.grid(["rate", "dt"], (30, 90), (9, 30, 90, 600), seeds=2))))
    assert figure is not None
    shown = panels(figure)
    assert list(shown) == ["rate", "dt"]
    rate = shown["rate"]
    assert [label.get_text() for label in rate.get_xticklabels()] == ["9", "30", "90", "600"]
    assert [label.get_text() for label in rate.get_yticklabels()] == ["30", "90"]
    below, above = ([texts(rate)[column, row] for column in range(4)] for row in (0, 1))
    # Two runs of 0.50 and 0.53 beyond the training length.
    assert below == ["1.00", "1.00", "0.52", "0.52"] and above == ["1.00", "1.00", "1.00", "0.52"]
    assert rate.collections[0].get_clim() == (0.0, 1.0)


def test_the_diagonal_parts_what_is_longer_than_training(make_run: Any) -> None:
    figure = heatmap(experiments(read_runs(make_run.grid(["rate"], (30, 100), (9, 30, 90, 600)))))
    assert figure is not None
    dashed = panels(figure)["rate"].lines[-1]
    assert dashed.get_linestyle() == "--"
    assert dashed.get_xydata().tolist() == [[1.5, -0.5], [1.5, 0.5], [2.5, 0.5], [2.5, 1.5]]


def test_cells_that_were_not_evaluated_are_hatched(make_run: Any) -> None:
    paths = make_run.grid(["rate"], (30, 90), (9, 90)) + make_run.grid(["dt"], (30,), (9,))
    figure = heatmap(experiments(read_runs(paths)))
    assert figure is not None
    axes = panels(figure)["dt"]
    assert texts(axes) == {(0, 0): "1.00"}
    assert np.ma.getmaskarray(axes.collections[0].get_array()).reshape(2, 2).tolist() == [[False, True], [True, True]]
    assert axes.patch.get_hatch()


def test_returns_have_a_scale_of_their_own(make_run: Any) -> None:
    def run(length: int, value: float) -> Path:
        records = [make_run.episode("length-9", seed, None, episode_return=value) for seed in range(2)]
        meta = {"train_length": length, "axis": "length"}
        return Path(make_run(f"r{length}", records=records, meta=meta, train={"window": length}))

    figure = heatmap(experiments(read_runs([run(30, -5.0), run(90, 250.0)])))
    assert figure is not None
    axes = panels(figure)["rate"]
    assert axes.collections[0].get_clim() == (-5.0, 250.0)
    assert texts(axes) == {(0, 0): "-5.00", (0, 1): "250.0"}


@pytest.mark.parametrize("lengths", [(30,), ()])
def test_one_training_length_has_no_heat_map(make_run: Any, lengths: tuple[int, ...]) -> None:
    paths = make_run.grid(["rate", "dt"], lengths, (9, 30)) or [make_run("a", records=make_run.episodes("x", 1, 2))]
    assert heatmap(experiments(read_runs(paths))) is None


def test_two_environments_stand_below_each_other(make_run: Any) -> None:
    runs = read_runs(make_run.grid(["rate"], (30, 90), (9, 90)))
    others = [type(run)(**{**vars(run), "env": "maze", "axis": "length"}) for run in runs]
    figure = heatmap(experiments([*runs, *others]))
    assert figure is not None
    assert [part.get_suptitle() for part in figure.subfigs] == [
        f"{env}: success rate by training length" for env in ("tmaze", "maze")
    ]
    assert len(render(figure, "svg")) > 1000


def test_the_words_say_what_holds_within_and_beyond(make_run: Any) -> None:
    (group,) = experiments(read_runs(make_run.grid(["rate", "dt"], (30, 90), (9, 90, 150))))
    assert heatmap_words(group) == (
        "rate, trained on 30: 1.00 up to it, 0.50 beyond it. rate, trained on 90: 1.00 up to it, 0.50 beyond it. "
        "dt, trained on 30: 1.00 up to it, 0.50 beyond it. dt, trained on 90: 1.00 up to it, 1.00 beyond it."
    )


def test_a_report_over_training_lengths(make_run: Any, tmp_path: Path) -> None:
    report = write_report(make_run.grid(["rate", "<i>"], (30, 90), (9, 90)), tmp_path / "out")
    assert (tmp_path / "out" / "heatmap.png").stat().st_size > 10_000
    text, page = report.markdown.read_text(), report.page.read_text()
    assert "![score by training length and by case, one panel per model](heatmap.png)" in text
    assert "tmaze, trained at 90: success rate" in text
    assert "a panel per model. rate, trained on 30: 1.00 up to it, 0.50 beyond it." in page
    assert "&lt;i&gt;, trained on 30" in page and "<i>" not in page
    assert "4 runs of 2 models" in page and "@ n: trained at n" in page
    write_report(list((tmp_path / "runs").glob("rate-30/*")), tmp_path / "out")
    assert not (tmp_path / "out" / "heatmap.png").exists()
