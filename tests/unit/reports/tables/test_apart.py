"""Episodes judged apart: by tag, with the imbalance; under interventions, prompts and targets; and sweeps over both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rate.reports import read_runs, write_report
from rate.reports.figures.sweeps import sweep_figure, sweep_words, sweeps
from rate.reports.reading.scores import Experiment, experiments
from rate.reports.tables.apart import altered_table, tag_tables

META = {"axis": "length", "metric": "success_rate", "tags": ["colour"]}


def read(*paths: Path) -> Experiment:
    return experiments(read_runs(paths))[0]


def coloured(make_run: Any, red: int, green: int) -> list[dict[str, Any]]:
    parts = (("red", red, 0), ("green", green, 100))
    return [
        make_run.episode("length-9", first + seed, seed < wins, tags={"colour": colour})
        for colour, wins, first in parts
        for seed in range(10)
    ]


def test_results_by_tag_and_their_imbalance(make_run: Any) -> None:
    paths = [make_run(f"r{seed}", seed=seed, records=coloured(make_run, 9, 5 + seed), meta=META) for seed in (0, 1)]
    (table,) = tag_tables(read(*paths))
    assert table.header == ("Model", "colour green", "colour red", "Imbalance")
    ((name, green, red, imbalance),) = table.rows
    assert (name, imbalance) == ("rate", "0.35") and green.startswith("0.55 [") and red.startswith("0.90 [")
    assert not tag_tables(read(make_run("no", records=coloured(make_run, 9, 5), meta={**META, "tags": []})))
    assert not tag_tables(read(make_run("one", records=coloured(make_run, 9, 5)[:10], meta=META)))


def test_a_normalised_score_is_that_of_the_run(make_run: Any) -> None:
    score = {"kind": "normalised", "low": 0.0, "high": 50.0}
    records = [make_run.episode("length-9", seed, None, episode_return=float(seed)) for seed in (20, 30)]
    experiment = read(make_run("a", records=records, meta={"metric": "normalised_score", "score": score}))
    assert experiment.models[0].scores["length-9"].value == 50.0 and experiment.score.name == "normalised_score"
    other = make_run("b", model="dt", records=records, meta={"score": {**score, "high": 40.0}})
    mixed = read(make_run("c", records=records, meta={"score": score}), other)
    assert mixed.score.name == "return_mean", "scores of other references are not put side by side"


def noisy(make_run: Any) -> list[dict[str, Any]]:
    records = make_run.episodes("length-90", 20, 20)
    for strength, wins in (("0.5", 15), ("1", 10)):
        records += make_run.episodes("length-90", wins, 20, intervention=f"memory-noise={strength}")
    records += make_run.episodes("length-90", 3, 20, target_return=0.5)
    return records + make_run.episodes("length-90", 20, 20)  # the plain one again: it was written last


def test_what_is_not_plain_has_a_table_of_its_own(make_run: Any) -> None:
    experiment = read(make_run("a", records=noisy(make_run), meta=META))
    assert experiment.models[0].scores["length-90"].value == 1.0
    table = altered_table(experiment)
    assert table is not None and table.header == ("Model", "Changed", "length-90")
    assert [(way, cell[:4]) for _, way, cell in table.rows] == [
        ("memory-noise=0.5", "0.75"),
        ("memory-noise=1", "0.50"),
        ("target 0.5", "0.15"),
    ]
    assert altered_table(read(make_run("b", records=make_run.episodes("length-90", 20, 20)))) is None


def test_a_sweep_over_the_strength_begins_with_the_plain_evaluation(make_run: Any, tmp_path: Path) -> None:
    path = make_run("a", records=noisy(make_run), meta=META)
    (panel,) = sweeps([read(path)])
    assert {name: [(at, one.value) for at, one in line.items()] for name, line in panel.lines.items()} == {
        "rate, memory-noise": [(0.0, 1.0), (0.5, 0.75), (1.0, 0.5)]
    }
    assert "0.75 at 0.5" in sweep_words([panel])
    report = write_report([path], tmp_path / "report")
    assert (tmp_path / "report/sweeps.png").exists() and "memory-noise=0.5" in report.markdown.read_text()
    assert "Score by setting" in report.page.read_text()


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_sweep_over_a_setting(make_run: Any, seeds: int) -> None:
    paths = [
        make_run(
            f"{layers}-{width}-{seed}",
            seed=seed,
            model="rate",
            width=width,
            records=make_run.episodes("length-90", 10 + layers, 20) + make_run.episodes("length-9", 20, 20),
            train={"layers": layers, "steps": 100 * layers},
        )
        for layers in (1, 2, 4, 8)
        for width in (16, 32)
        for seed in range(seeds)
    ]
    panels = sweeps([read(*paths)])
    assert [(panel.axis, panel.title) for panel in panels] == [
        ("train.layers", "tmaze, rate (width 16)"),
        ("train.layers", "tmaze, rate (width 32)"),
    ], "what follows from the layers is no axis of its own, and two widths are no sweep"
    line = panels[0].lines["length-90"]
    assert [(at, one.value) for at, one in line.items()] == [(1, 0.55), (2, 0.6), (4, 0.7), (8, 0.9)]
    assert set(panels[0].lines) == {"length-90", "length-9"} and sweep_figure(panels) is not None


def test_training_lengths_are_no_sweep(make_run: Any) -> None:
    assert not sweeps([read(*make_run.grid(["rate", "dt"], [9, 30, 90], [9, 30, 90]))]) and sweep_figure([]) is None
