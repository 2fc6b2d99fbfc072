"""Rows for machines and tables for people: values, pooling over seeds, order of the cases, cost.

Wilson bounds are written out, so an error in the pooling cannot hide in a shared helper.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rate.evaluation.intervals import Interval
from rate.reports import read_runs
from rate.reports.reading.curves import learning_panels
from rate.reports.reading.scores import Experiment, experiments, pooling_notes
from rate.reports.tables.table import (
    Table,
    cost_table,
    format_interval,
    format_seconds,
    score_table,
    score_tables,
    summary_rows,
)

KEYS = ["run", "model", "env", "case", "intervention", "prompt", "episodes", "metric", "value", "low", "high"]
KEYS += ["familiar"]


def read(*paths: Path) -> Sequence[Experiment]:
    return experiments(read_runs(paths))


def test_rows_have_these_keys_and_values(make_run: Any) -> None:
    rows = summary_rows(read_runs([make_run("a", records=make_run.episodes("length-9", 10, 10))]))
    assert [list(row) for row in rows] == [KEYS]
    row = rows[0]
    assert (row["run"], row["model"], row["env"], row["case"]) == ("a", "rate", "tmaze", "length-9")
    assert (row["episodes"], row["metric"], row["value"], row["high"]) == (10, "success_rate", 1.0, 1.0)
    assert row["low"] == pytest.approx(0.7225, abs=5e-5)


def test_returns_have_their_standard_error(make_run: Any) -> None:
    records = [make_run.episode("length-9", seed, None, episode_return=float(seed)) for seed in (1, 2, 3, 4)]
    (row,) = summary_rows(read_runs([make_run("a", records=records)]))
    assert (row["metric"], row["value"]) == ("return_mean", 2.5)
    assert (row["low"], row["high"]) == pytest.approx((2.5 - 0.6455, 2.5 + 0.6455), abs=1e-4)


def test_one_return_has_no_bounds(make_run: Any) -> None:
    path = make_run("a", records=[make_run.episode("length-9", 0, None, episode_return=4.0)])
    (row,) = summary_rows(read_runs([path]))
    assert (row["value"], row["low"], row["high"]) == (4.0, None, None)
    assert score_table(read(path)[0]).rows == (("rate", "1", "1", "4.00"),)


def test_seeds_are_pooled(make_run: Any) -> None:
    first = make_run("a", seed=0, records=make_run.episodes("length-9", 20, 50))
    second = make_run("b", seed=1, records=make_run.episodes("length-9", 30, 50))
    table = score_table(read(first, second)[0])
    # 50 of 100 pooled; the runs are 0.4 and 0.6: mean 0.5, SEM 0.1.
    assert table.rows == (("rate", "2", "100", "0.50 [0.40, 0.60] (2 runs: 0.50 ± 0.10, min 0.40)"),)


def test_runs_of_other_models_and_environments_are_not_pooled(make_run: Any) -> None:
    records = make_run.episodes("length-9", 1, 2)
    paths = [
        make_run("a", model="rate", records=records),
        make_run("b", model="dt", records=records),
        make_run("c", model="rate", env="popgym", records=records),
    ]
    found = [(group.env, [model.model for model in group.models]) for group in read(*paths)]
    assert found == [("tmaze", ["rate", "dt"]), ("popgym", ["rate"])]


def test_cases_are_ordered_by_number(make_run: Any) -> None:
    cases = ("length-900", "length-90", "length-9", "length-150")
    records = [line for case in cases for line in make_run.episodes(case, 1, 2)]
    other = make_run.episodes("extra", 1, 2, tags={})
    path = make_run("a", records=records + other, meta={"axis": "length"})
    header = score_table(read(path)[0]).header
    assert header[3:] == ("length-9", "length-90", "length-150", "length-900", "extra")


def test_what_was_not_evaluated_says_so(make_run: Any) -> None:
    one = make_run("a", records=make_run.episodes("length-9", 4, 4))
    more = make_run("b", seed=1)
    other = make_run("c", model="dt")
    rows = score_table(read(one, more, other)[0]).rows
    assert rows[0][1:3] == ("2 (1 evaluated)", "4")
    assert rows[1] == ("dt", "1", "0", "not evaluated")
    assert score_table(read(other)[0]).header == ("Model", "Runs", "Episodes per case", "Result")
    assert summary_rows(read_runs([other])) == []


def test_cost_is_weighted_by_steps_and_kept_apart_by_batch(make_run: Any) -> None:
    cases = ("length-9", "length-30", "length-90")
    costs = [
        make_run.cost(cases[0], 1.0, env_steps=1000, seconds=30.0),
        make_run.cost(cases[1], 2.0, env_steps=3000, seconds=60.0),
        make_run.cost(cases[2], 9.0, batch=1, threads=None),
    ]
    records = [line for case in cases for line in make_run.episodes(case, 1, 2)]
    table = cost_table(read(make_run("a", records=records, costs=costs))[0])
    assert table is not None
    assert table.header[3:] == ("Batch", "Threads", "ms per step of the batch", "Acting steps", "Acting time")
    assert [row[3:] for row in table.rows] == [
        ("1", "unknown", "9", "3,000", "1.5 s"),
        ("16", "2", "1.75", "4,000", "1 min 30 s"),
    ]


@pytest.mark.parametrize(
    ("times", "shown"), [((60.0, 90.0), "1 min 15 s"), ((60.0, None), "unknown"), ((None, None), "unknown")]
)
def test_training_is_counted_in_steps_and_time(make_run: Any, times: Any, shown: str) -> None:
    paths = [
        make_run(
            f"r{seed}",
            seed=seed,
            records=make_run.episodes("length-9", 1, 2),
            costs=[make_run.cost("length-9")],
            metrics=[
                {"step": 10, "train/loss": 1.0, "time/training_seconds": 1.0},
                {"step": 500 * (1 + seed), "train/loss": 1.0, "time/training_seconds": seconds},
                {"step": 500, "valid/loss": 1.0},
            ][0 if seconds else 2 :],
        )
        for seed, seconds in enumerate(times)
    ]
    table = cost_table(read(*paths)[0])
    assert table is not None and table.header[:3] == ("Model", "Optimiser steps", "Training time")
    steps = "500 to 1,000" if times[1] else "500"
    assert [row[:3] for row in table.rows] == [("rate", steps, shown)]


def test_no_cost_no_table(make_run: Any) -> None:
    assert cost_table(read(make_run("a", records=make_run.episodes("length-9", 1, 2)))[0]) is None


def test_pooled_runs_that_share_a_seed_are_noted(make_run: Any) -> None:
    first, second, third = make_run("a"), make_run("b", seed=1), make_run("c", seed=1)
    assert pooling_notes(read(first, second)[0]) == []
    assert pooling_notes(read(first, second, third)[0]) == ["tmaze: pooled runs of rate share a seed"]


def test_models_that_were_trained_unequally_are_noted(make_run: Any) -> None:
    runs = [make_run("a", model="rate"), make_run("b", model="dt")]
    assert pooling_notes(read(*runs)[0]) == []
    for path, steps in zip(runs, (20, 1000), strict=True):
        config = json.loads((path / "config.json").read_text())
        config["train"] = {"steps": steps, "log_every": steps}
        (path / "config.json").write_text(json.dumps(config))
    assert pooling_notes(read(*runs)[0]) == ["tmaze: the runs differ in train.steps (20, 1000)"]


def test_what_training_lengths_are_is_no_difference_to_note(make_run: Any) -> None:
    runs = make_run.grid(["rate", "dt"], (30, 90), (30, 90))
    assert pooling_notes(read(*runs)[0]) == []
    longer = make_run.grid(["rmt"], (30, 90), (30, 90), steps=3000)
    assert pooling_notes(read(*runs, *longer)[0]) == ["tmaze: the runs differ in train.steps (1000, 3000)"]
    fact = make_run("fact", model="fact", meta={"train_length": 30}, train={"steps": 1000}, data={"oracle": "hint"})
    assert "oracle" not in pooling_notes(read(*runs, fact)[0])[0]
    odd = make_run("odd", model="odd", meta={"train_length": 30}, train={"window": 30}, data={"options": ["length=9"]})
    (note,) = pooling_notes(read(*runs, odd)[0])
    assert "data.options (length=30, length=90, length=9)" in note and "train.window" not in note


def labels(*paths: Path) -> dict[str, list[str]]:
    (group,) = read(*paths)
    return {model.model: [run.name for run in model.runs] for model in group.models}


def test_other_configurations_are_models_of_their_own(make_run: Any) -> None:
    paths = [make_run("a"), make_run("b", width=128), make_run("c", seed=1), make_run("d", model="dt", width=8)]
    assert labels(*paths) == {"rate (width=64)": ["a", "c"], "rate (width=128)": ["b"], "dt": ["d"]}
    assert [curve.model for curve in learning_panels(read(*paths)[0].runs)[0].curves] == [
        "rate (width=64)",
        "rate (width=64)",
        "rate (width=128)",
        "dt",
    ]


def test_what_does_not_change_the_experiment_does_not_part_runs(make_run: Any) -> None:
    first = make_run("a", recipe="x", train={"device": "cpu", "bptt_segments": None}, eval={"seed": 1, "cases": ["a"]})
    second = make_run("b", recipe="y", train={"device": "cuda"}, eval={"seed": 2, "cases": []})
    assert labels(first, second) == {"rate": ["a", "b"]}


def test_labels_name_fields_outside_the_model_last_and_stay_short(make_run: Any) -> None:
    long = "/data/" + "x" * 40
    first = make_run("a", data={"path": long + "/1", "options": []}, train={"clip": 1.0, "window": 30})
    second = make_run("b", width=8, data={"path": long + "/2", "options": ["length=9"]}, train={"clip": None})
    assert list(labels(first, second)) == [
        "rate (width=64, data.options=(), data.path=/data/xxx…xxxxxxx/1, …)",
        "rate (width=8, data.options=length=9, data.path=/data/xxx…xxxxxxx/2, …)",
    ]


def test_training_lengths_are_told_apart_by_the_length_alone(make_run: Any) -> None:
    paths = make_run.grid(["rate", "dt"], (30, 150), (30,), seeds=2) + make_run.grid(["mlp"], (30,), (30,))
    assert list(labels(*paths)) == ["rate @ 30", "rate @ 150", "dt @ 30", "dt @ 150", "mlp @ 30"]
    assert list(labels(*paths[:2], *paths[4:6])) == ["rate", "dt"]  # one length each


def test_variants_of_a_model_keep_their_fields_beside_the_length(make_run: Any) -> None:
    paths = []
    for valve in ("ca2", "none"):
        for length in (30, 90):
            path = make_run(f"{valve}-{length}", meta={"train_length": length}, train={"window": length})
            config = json.loads((path / "config.json").read_text())
            config["model"] = {"name": "rate", "valve": valve, "segment_len": length // 3}
            (path / "config.json").write_text(json.dumps(config))
            paths.append(path)
    assert list(labels(*paths)) == [f"rate (valve={valve}) @ {at}" for valve in ("ca2", "none") for at in (30, 90)]
    assert list(read(*paths)[0].families) == ["rate (valve=ca2)", "rate (valve=none)"]


def test_each_training_length_has_a_table(make_run: Any) -> None:
    (group,) = read(*make_run.grid(["rate", "dt"], (90, 30), (9, 30, 90)))
    tables = score_tables(group)
    assert [table.caption.split(":")[0] for table in tables] == [f"tmaze, trained at {length}" for length in (30, 90)]
    assert [row[0] for table in tables for row in table.rows] == ["rate", "dt"] * 2
    # The first model is right up to its training length, the second to twice of it.
    assert [[cell[:4] for cell in row[3:]] for row in tables[0].rows] == [["1.00", "1.00", "0.50"]] * 2
    assert [cell[:4] for cell in tables[1].rows[0][3:]] == ["1.00"] * 3
    (one,) = score_tables(read(*make_run.grid(["rmt", "trxl"], (30,), (9,)))[0])
    assert one.caption.startswith("tmaze: success rate")


def test_labels_that_would_be_the_same_are_written_out(make_run: Any) -> None:
    paths = [make_run(f"r{at}", data={"path": f"{'x' * 20}{at}{'y' * 20}"}) for at in range(2)]
    assert list(labels(*paths)) == [f"rate (data.path={'x' * 20}{at}{'y' * 20})" for at in range(2)]


def test_markdown_cells_cannot_break_the_table() -> None:
    table = Table(caption="", header=("a|b", "c"), rows=(("x\ny", "<script>"),))
    assert table.to_markdown() == "| a\\|b | c |\n| --- | --- |\n| x y | &lt;script&gt; |"


@pytest.mark.parametrize(
    ("interval", "bounds", "text"),
    [
        (Interval(1.0, 0.963, 1.0), True, "1.00 [0.96, 1.00]"),
        (Interval(4.2, 3.9, 4.5), False, "4.20 ± 0.30"),
        (Interval(-0.001, -0.101, 0.099), False, "0.00 ± 0.10"),
        (Interval(-1234.5, -1246.8, -1222.2), False, "-1234.5 ± 12.30"),
    ],
)
def test_cells(interval: Interval, bounds: bool, text: str) -> None:
    assert format_interval(interval, bounds=bounds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (245, "4 min 05 s"), (7400, "2 h 03 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
