"""Figures: what is drawn on which axis, and that the files hold a picture.

The artists are inspected; the look is for eyes.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.collections import LineCollection
from matplotlib.image import imread

from rate.reports import read_runs
from rate.reports.figures.horizon import horizon
from rate.reports.figures.plots import COLOURS, learning_curves, model_styles, render
from rate.reports.reading.curves import MAX_POINTS, evaluation_series, learning_panels, series
from rate.reports.reading.scores import experiments

META = {"train_length": 30, "axis": "length", "axis_unit": "environment steps"}


def test_resumed_steps_count_once_and_infinities_not() -> None:
    lines = [{"step": 20, "x": 5.0}, {"step": 10, "x": 1.0}, {"step": 20, "x": 2.0}, {"step": 30, "x": float("nan")}]
    assert series([*lines, {"step": 40, "y": 1.0}], "x") == {10: 1.0, 20: 2.0}


def test_evaluation_curve_needs_every_case() -> None:
    key = "eval/{}/success_rate".format
    lines = [{"step": 1, key("a"): 0.2}, {"step": 1, key("b"): 0.4}, {"step": 2, key("a"): 1.0}]
    assert evaluation_series(lines, "success_rate") == pytest.approx({1: 0.3})
    assert evaluation_series(lines, "return_mean") == {}


def test_panels_are_those_that_were_logged(make_run: Any) -> None:
    full = learning_panels(read_runs([make_run("a")]))
    titles = ["Training loss", "Validation loss", "Validation accuracy", "Success rate during training"]
    assert [panel.title for panel in full] == titles
    assert [panel.scale for panel in full] == ["log", "log", "fraction", "fraction"]
    (only,) = learning_panels(read_runs([make_run("b", metrics=[{"step": 1, "train/loss": -0.5}])]))
    assert (only.title, only.scale) == ("Training loss", "linear")


def test_long_curves_are_thinned(make_run: Any) -> None:
    metrics = [{"step": step, "train/loss": 1.0} for step in range(4000)]
    (panel,) = learning_panels(read_runs([make_run("a", metrics=metrics)]))
    assert len(panel.curves[0].steps) == MAX_POINTS
    assert np.mean(panel.curves[0].steps) == pytest.approx(1999.5)


def test_one_line_per_run_coloured_per_model(make_run: Any) -> None:
    paths = [make_run("a"), make_run("b", seed=1), make_run("c", model="dt")]
    figure = learning_curves(experiments(read_runs(paths)))
    assert figure is not None
    loss = figure.axes[0]
    assert loss.get_yscale() == "log"
    assert [line.get_color() for line in loss.lines] == [COLOURS[0], COLOURS[0], COLOURS[1]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["rate", "dt"]


def test_horizon_marks_the_training_length_on_a_log_axis(make_run: Any) -> None:
    records = make_run.episodes("length-9", 10, 10) + make_run.episodes("length-90", 5, 10)
    figure = horizon(experiments(read_runs([make_run("a", records=records, meta=META)])))
    assert figure is not None
    (axes,) = figure.axes
    scores, mark = axes.lines
    assert axes.get_xscale() == "log"
    assert np.allclose(np.asarray(scores.get_xdata()), [9, 90]) and list(scores.get_ydata()) == [1.0, 0.5]
    assert set(mark.get_xdata()) == {30} and mark.get_linestyle() == "--"
    assert [text.get_text() for text in axes.texts] == ["training length 30"]
    assert axes.get_xlabel() == "Length (environment steps)" and axes.get_ylabel() == "Success rate (fraction)"


def test_several_runs_are_drawn_with_their_spread(make_run: Any) -> None:
    counts = [(10, 10), (10, 9), (10, 2)]
    paths = [
        make_run(
            f"r{seed}", seed=seed, records=make_run.episodes("length-9", a, 10) + make_run.episodes("length-90", b, 10)
        )
        for seed, (a, b) in enumerate(counts)
    ]
    figure = horizon(experiments(read_runs(paths)))
    assert figure is not None
    *runs, mean = figure.axes[0].lines
    assert [list(line.get_ydata()) for line in runs] == [[1.0, 1.0], [1.0, 0.9], [1.0, 0.2]]
    assert list(mean.get_ydata()) == pytest.approx([1.0, 0.7])
    bars = next(item for item in figure.axes[0].collections if isinstance(item, LineCollection))
    # 1.0, 0.9, 0.2: standard deviation 0.436, divided by the root of 3. The pooled Wilson interval is 0.52 to 0.83.
    assert [tuple(bar[:, 1]) for bar in bars.get_segments()] == [(1, 1), pytest.approx((0.448, 0.952), abs=5e-4)]
    assert figure.axes[0].get_xlabel() == "Length"  # without a unit in meta.json


def test_spread_stays_within_the_scale_of_a_rate(make_run: Any) -> None:
    cases = ("length-9", "length-90")
    paths = [
        make_run(f"r{seed}", seed=seed, records=[line for case in cases for line in make_run.episodes(case, done, 10)])
        for seed, done in enumerate((10, 10, 10, 7))
    ]
    figure = horizon(experiments(read_runs(paths)))
    assert figure is not None
    bars = next(item for item in figure.axes[0].collections if isinstance(item, LineCollection))
    assert all(0 <= bound <= 1 for bar in bars.get_segments() for bound in bar[:, 1])


def test_axis_from_zero_is_linear(make_run: Any) -> None:
    records = make_run.episodes("length-0", 1, 2) + make_run.episodes("length-5", 1, 2)
    figure = horizon(experiments(read_runs([make_run("a", records=records)])))
    assert figure is not None and figure.axes[0].get_xscale() == "linear"


def test_nothing_to_draw_is_no_figure(make_run: Any) -> None:
    groups = experiments(read_runs([make_run("a", metrics=[], records=make_run.episodes("length-9", 1, 2))]))
    assert learning_curves(groups) is None and horizon(groups) is None


def test_one_case_and_one_episode_can_be_drawn(make_run: Any) -> None:
    records = [make_run.episode("length-9", 0, None, episode_return=3.0)]
    figure = horizon(experiments(read_runs([make_run("a", records=records, meta={"axis": "length"})])))
    assert figure is not None and len(render(figure, "svg")) > 1000


def test_many_models_have_styles_of_their_own(make_run: Any) -> None:
    groups = experiments(read_runs([make_run(f"r{at}", model=f"m{at}") for at in range(20)]))
    assert len(set(model_styles(groups).values())) == 20


def test_fifteen_models_differ_in_colour_or_line(make_run: Any) -> None:
    groups = experiments(read_runs([make_run(f"r{at}", model=f"m{at}") for at in range(15)]))
    styles = model_styles(groups).values()
    assert len({(style.colour, style.line) for style in styles}) == 15
    assert {style.line for style in list(styles)[:8]} == {"-"}


def test_each_training_length_has_a_panel_and_a_model_one_colour(make_run: Any) -> None:
    groups = experiments(read_runs(make_run.grid(["rate", "dt"], (30, 90), (9, 90))))
    figure = horizon(groups)
    assert figure is not None
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        f"tmaze, trained at {length}: success rate by length" for length in (30, 90)
    ]
    for axes, length in zip(figure.axes, (30, 90), strict=True):
        *scores, mark = axes.lines
        assert [line.get_color() for line in scores] == list(COLOURS[:2])
        assert set(mark.get_xdata()) == {length}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["rate", "dt"]
    curves = learning_curves(groups)
    assert curves is not None
    assert [axes.get_title(loc="left") for axes in curves.axes[:2]] == [
        "tmaze @ 30: training loss",
        "tmaze @ 90: training loss",
    ]


def test_a_crowd_is_drawn_without_bands_and_single_runs(make_run: Any) -> None:
    groups = experiments(read_runs(make_run.grid([f"m{at}" for at in range(9)], (30,), (9, 90), seeds=2)))
    figure = horizon(groups)
    assert figure is not None
    assert len(figure.axes[0].lines) == 9 + 1
    assert all(isinstance(item, LineCollection) for item in figure.axes[0].collections)


def test_many_curves_are_means_over_runs(make_run: Any) -> None:
    paths = [
        make_run(f"r{at}", model=f"m{at % 2}", seed=at, metrics=[{"step": 1, "train/loss": float(at)}, *more])
        for at in range(13)
        for more in ([[{"step": 2, "train/loss": 9.0}]] if at else [[]])
    ]
    (panel,) = learning_panels(read_runs(paths))
    found = {curve.model: (curve.run, curve.steps, curve.values) for curve in panel.curves}
    assert found == {
        "m0": ("mean of 7 runs of m0", (1.0,), (6.0,)),  # the first of them ended at step 1
        "m1": ("mean of 6 runs of m1", (1.0, 2.0), (6.0, 9.0)),
    }
    (few,) = learning_panels(read_runs(paths[:12]))
    assert len(few.curves) == 12


def test_files_hold_a_picture_and_repeat_exactly(make_run: Any) -> None:
    groups = experiments(read_runs([make_run("a", metrics=[{"step": 1, "train/loss": 1.0}])]))
    figures = [learning_curves(groups) for _ in range(2)]
    assert figures[0] is not None and figures[1] is not None
    image = imread(io.BytesIO(render(figures[0], "png")), format="png")
    assert image.std() > 0.01
    assert render(figures[0], "svg") == render(figures[1], "svg")


def test_pyplot_keeps_no_figure(make_run: Any) -> None:
    before = list(Gcf.figs)
    assert learning_curves(experiments(read_runs([make_run("a")]))) is not None
    assert list(Gcf.figs) == before
