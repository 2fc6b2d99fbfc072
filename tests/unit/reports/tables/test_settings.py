"""What runs differ in, what their data returned and where they began stands in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from integration.tiny import config
from rate.config import edit
from rate.experiment import train_run
from rate.reports import write_report
from rate.reports.reading.runs import read_runs
from rate.reports.tables.settings import data_table, familiar_table, settings_table


def test_every_setting_in_which_runs_differ(tmp_path: Path) -> None:
    one = train_run(config(steps=1), tmp_path / "one")
    changed = edit(config(steps=2), {"model.memory_tokens": 3})
    other = train_run(changed, tmp_path / "other")
    again = train_run(config(steps=1), tmp_path / "again", start_from=one.path)
    summaries = read_runs([one.path, other.path])
    table = settings_table(summaries)
    assert table is not None and {row[0]: row[1:] for row in table.rows} == {
        "model.memory_tokens": ("2", "3"),
        "train.steps": ("1", "2"),
    }
    assert settings_table(summaries[:1]) is None
    data = data_table(summaries)
    stored = json.loads((one.path / "meta.json").read_text())["data_returns"]
    assert data is not None and [float(text) for text in data.rows[0][1:]] == [
        stored["min"],
        stored["mean"],
        stored["max"],
    ]
    report = write_report([one.path, again.path], tmp_path / "report")
    assert any(f"began with the weights of {one.path}, step 1" in note for note in report.notes)
    assert "train.start_from" in report.table and "Return of the training data" in report.markdown.read_text()


def test_what_evaluation_shares_with_training(make_run: Any) -> None:
    """Of several cases by name, alike runs in one row; older runs, which do not tell, are left out."""
    half = [*make_run.episodes("length-9", 4, 4, familiar=True), *make_run.episodes("length-9", 4, 4, evaluation="b")]
    mixed = [make_run.episode("length-30", seed, familiar=seed < 3) for seed in range(8)]
    known = make_run.episodes("length-9", 4, 4, familiar=True)
    meta = {"distinct": {"of": 4500, "episodes": 152, "first_observations": 1}}
    paths = [make_run("old", records=half), make_run("a", records=known + mixed, meta=meta)]
    paths += [make_run(name, records=known, meta={}) for name in ("b", "c")]
    table = familiar_table(read_runs(paths))
    assert table is not None and table.rows == (
        ("a", "4,500", "152", "1 (all begin alike)", "100 % (length-9), 37.5 % (length-30)"),
        ("b, c", "unknown", "unknown", "unknown", "100 %"),
    )
    assert familiar_table(read_runs(paths[:1])) is None
