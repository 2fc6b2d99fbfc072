"""Reports over many tasks: a run is the unit, tasks weigh the same, and what is not known is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from rate.evaluation.intervals import Interval, bootstrap_interval, bootstrap_tasks, iqm
from rate.reports import write_report
from rate.reports.figures.tasks import tasks_figure
from rate.reports.reading.runs import read_runs
from rate.reports.reading.scores import experiments
from rate.reports.tables.tasks import ALL, Tasks, tasks_of, tasks_tables

Returns = Sequence[Sequence[float]]
"""For each run, the returns of its episodes."""


def write(
    make: Any, env: str, models: Mapping[str, Returns], data: float | None = None, subset: str = ""
) -> list[Path]:
    """The runs of one task."""
    meta = {"metric": "return", **({} if data is None else {"data_return": data})}
    tags = {"subset": subset} if subset else {}
    return [
        make(
            f"{env}-{model}-{seed}",
            model=model,
            env=env,
            seed=seed,
            metrics=[{"step": 1, "train/loss": 1.0}],
            records=[make.episode("default", at, None, episode_return=one, tags=tags) for at, one in enumerate(values)],
            costs=[make.cost("default")],
            meta=meta,
        )
        for model, runs in models.items()
        for seed, values in enumerate(runs)
    ]


@pytest.fixture
def paths(make_run: Any) -> list[Path]:
    """Three tasks in two subsets; the second model has one run, and none in the last task."""
    return [
        *write(make_run, "a", {"rate": [[1.0, 0.0], [1.0] * 8], "dt": [[0.0, 0.5]]}, 1.0, "memory"),
        *write(make_run, "b", {"rate": [[0.2, 0.2], [0.4]], "dt": [[0.1]]}, 0.05, "memory"),
        *write(make_run, "c", {"rate": [[-0.5], [-0.5, -0.3]]}, 0.5, "reactive"),
    ]


def gather(paths: Sequence[Path]) -> Tasks:
    found = tasks_of(experiments(read_runs(paths)))
    assert found is not None
    return found


def test_episodes_are_pooled_within_a_run_first(paths: list[Path]) -> None:
    tasks = gather(paths).tasks
    assert [task.name for task in tasks] == ["a", "b", "c"]
    assert tasks[0].returns == {"rate": (0.5, 1.0), "dt": (0.25,)}  # not 9 of 10 episodes
    assert tasks[2].returns == {"rate": (-0.5, -0.4)}


def test_over_tasks(paths: list[Path]) -> None:
    overall = {(item.part, item.model): item for item in gather(paths).overall}
    assert set(overall) == {(ALL, "rate"), (ALL, "dt"), ("memory", "rate"), ("memory", "dt"), ("reactive", "rate")}
    rate = overall[ALL, "rate"]
    assert rate.mean.value == pytest.approx((0.75 + 0.3 - 0.45) / 3)
    assert rate.total.value == pytest.approx(0.6) and rate.total.low == pytest.approx(3 * rate.mean.low)
    assert rate.iqm.value == pytest.approx(iqm([0.5, 1.0, 0.2, 0.4, -0.5, -0.4]))
    assert rate.mean.low < rate.mean.value < rate.mean.high
    dt = overall[ALL, "dt"]
    assert (dt.tasks, dt.of_tasks, dt.runs) == (2, 3, (1, 1)) and np.isnan(dt.mean.low)


def test_the_share_leaves_out_data_of_almost_no_return(paths: list[Path]) -> None:
    overall = {(item.part, item.model): item for item in gather(paths).overall}
    rate = overall[ALL, "rate"]
    assert rate.share_tasks == 2 and rate.share is not None  # the data of b has a return of 0.05
    assert rate.share.value == pytest.approx((0.75 / 1.0 - 0.45 / 0.5) / 2)


def test_runs_that_do_not_tell_their_data_have_no_share(make_run: Any) -> None:
    old = [*write(make_run, "a", {"rate": [[1.0]]}), *write(make_run, "b", {"rate": [[0.5]]})]
    tasks = gather(old)
    assert tasks.overall[0].share is None and list(tasks.parts) == [ALL]
    tables = tasks_tables(tasks)
    assert tables[0].rows == (("rate", "2", "1", "0.75", "0.75", "1.50", "not known"),)
    assert tables[1].header == ("Task", "rate")


def test_tables_say_what_is_missing(paths: list[Path]) -> None:
    every, memory, reactive, by_task, cost = tasks_tables(gather(paths))
    assert every.caption.startswith("3 tasks:") and reactive.caption.startswith("1 task of the subset reactive:")
    assert [row[:3] for row in every.rows] == [("rate", "3", "2"), ("dt", "2 of 3", "1")]
    assert every.rows[0][-1].endswith("(2 tasks)") and memory.rows[1][-1] == "0.25 (1 task)"
    assert by_task.header == ("Task", "Data", "rate", "dt")
    assert by_task.rows[0] == ("a", "1.00", "0.75 ± 0.25", "0.25")
    assert by_task.rows[2] == ("c", "0.50", "-0.45 ± 0.05", "not evaluated")
    assert [row[0] for row in cost.rows] == ["rate", "dt"] and cost.caption.startswith("3 tasks: cost")


def test_environments_of_several_cases_are_no_tasks(make_run: Any) -> None:
    two = [make_run.episode("length-9", 0), make_run.episode("length-90", 0)]
    runs = [make_run("x", env="x", records=two), *write(make_run, "a", {"rate": [[1.0]]})]
    assert tasks_of(experiments(read_runs(runs))) is None
    more = [*runs, *write(make_run, "b", {"rate": [[1.0]]})]
    assert gather(more).names == {"a", "b"}


def test_the_report_holds_tasks_once(paths: list[Path], tmp_path: Path, make_run: Any) -> None:
    report = write_report(paths, tmp_path / "out")
    text, page = report.markdown.read_text(), report.page.read_text()
    assert text.count("| a | 1.00 | 0.75 ± 0.25 | 0.25 |") == 1 and "a: mean return" not in text
    assert "![return by task, a row per task](tasks.png)" in text and "id='tasks'" in page
    facts = json.loads((tmp_path / "out" / "tasks.json").read_text())
    assert facts["tasks"][0]["models"]["rate"] == {
        "runs": [0.5, 1.0],
        "value": 0.75,
        "low": 0.5,
        "high": 1.0,
        "shares": [0.5, 1.0],
    }
    assert facts["overall"][0]["sum"]["value"] == pytest.approx(0.6)
    assert imread(tmp_path / "out" / "tasks.png").std() > 0.05
    write_report(paths[:2], tmp_path / "out")  # one environment: nothing of the tasks stays
    assert not list((tmp_path / "out").glob("tasks.*"))


def test_the_figure_has_a_row_per_task_and_a_heading_per_subset(paths: list[Path]) -> None:
    figure = tasks_figure(gather(paths))
    assert figure is not None and tasks_figure(None) is None
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Memory", "a", "b", "Reactive", "c"]
    dots = [(float(line.get_xdata()[0]), round(float(line.get_ydata()[0]))) for line in axes.lines]  # type: ignore[index]
    assert sorted((round(x, 6), row) for x, row in dots) == [(-0.45, 4), (0.1, 2), (0.25, 1), (0.3, 2), (0.75, 1)]
    assert axes.get_xscale() == "linear"


def test_tasks_of_very_different_returns_fit_on_one_axis(make_run: Any) -> None:
    runs = [*write(make_run, "a", {"rate": [[1.0]]}), *write(make_run, "b", {"rate": [[500.0]]})]
    figure = tasks_figure(gather(runs))
    assert figure is not None and figure.axes[0].get_xscale() == "symlog"


def test_bootstrap_of_equal_tasks_is_the_usual_one() -> None:
    scores = np.random.default_rng(0).normal(size=(6, 10))
    mine, usual = bootstrap_tasks(list(scores.T)), bootstrap_interval(scores)
    assert mine.value == usual.value
    assert (mine.low, mine.high) == pytest.approx((usual.low, usual.high), abs=0.03)


def test_tasks_with_more_runs_weigh_the_same() -> None:
    mean = bootstrap_tasks([[0.0] * 5, [1.0, 1.0]], lambda scores: float(scores.mean()))
    assert mean == Interval(0.5, 0.5, 0.5)
    assert np.isnan(bootstrap_tasks([[0.0], [1.0]]).low)
