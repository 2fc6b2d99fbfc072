"""Run directories in, a report out: Markdown, JSON, figures and one HTML page.

Every file is written whole or not at all, so a report can be rebuilt while someone reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from rate.errors import CheckpointError
from rate.reports.figures.heatmap import heatmap
from rate.reports.figures.horizon import horizon
from rate.reports.figures.plots import learning_curves, render
from rate.reports.figures.recall import Cross, cross_plot, crosses, recall_table
from rate.reports.figures.sweeps import sweep_figure, sweeps
from rate.reports.figures.tasks import tasks_figure
from rate.reports.page.html import render_page
from rate.reports.page.methods import METHODS
from rate.reports.reading.runs import RunSummary, read_runs
from rate.reports.reading.scores import Experiment, experiments, pooling_notes
from rate.reports.tables.apart import altered_table, tag_tables
from rate.reports.tables.settings import data_table, familiar_table, settings_table
from rate.reports.tables.table import Table, cost_table, escape_markdown, score_tables, summary_rows
from rate.reports.tables.tasks import Tasks, tasks_of, tasks_tables
from rate.system.files import as_path, check_writable, plain, write_atomically, write_json

ALT = {
    "heatmap": "score by training length and by case, one panel per model",
    "horizon": "horizon",
    "learning_curves": "learning curves",
    "sweeps": "score by the strength of an intervention or by the value of a setting, a line per model or case",
    "tasks": "return by task, a row per task",
    "recall": "probability of the right last action after each cue over training, a panel per model and case",
}
FEW = 4
"""More environments than this are not named in the title."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Where the parts of a report are, and what a terminal shows of it."""

    markdown: Path
    summary: Path
    page: Path
    figures: tuple[Path, ...]
    table: str
    """The score tables and cost tables as Markdown."""
    notes: tuple[str, ...]


def write_report(runs: Sequence[Path | str], out: Path | str) -> Report:
    """Read run directories and write report.md, summary.json, index.html and the figures into a directory."""
    out = as_path(out, "out")
    given = runs if isinstance(runs, (list, tuple)) else [runs]
    check_writable(out / "report.md")
    summaries = read_runs([as_path(run, "a run") for run in given])
    groups = experiments(summaries)
    tasks = tasks_of(groups)
    tables = _tables(groups, tasks)
    remembered = crosses(groups)
    tables += [recall_table(remembered)] if remembered else []
    about = (data_table(summaries), familiar_table(summaries), settings_table(summaries))
    tables += [table for table in about if table is not None]
    notes = _notes(summaries, groups)
    title = f"Report: {_names(groups)}"
    _make_directory(out)
    figures = _write_figures(out, groups, tasks, remembered)
    markdown, summary, page = (out / name for name in ("report.md", "summary.json", "index.html"))
    write_atomically(markdown, plain(_markdown(title, tables, notes, figures)))
    write_json(summary, summary_rows(summaries))
    _write_or_remove(out / "recall.json", [panel.facts() for panel in remembered])
    _write_or_remove(out / "tasks.json", tasks.facts() if tasks else None)
    write_atomically(page, plain(render_page(groups, tables, notes, title, tasks)))
    return Report(
        markdown=markdown,
        summary=summary,
        page=page,
        figures=figures,
        table="\n\n".join(table.to_markdown() for table in tables),
        notes=tuple(notes),
    )


def _make_directory(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise CheckpointError(f"{out} is a file; give a directory for the report") from error


def _notes(runs: Sequence[RunSummary], groups: Sequence[Experiment]) -> list[str]:
    own = [f"{run.name}: {note}" for run in runs for note in run.notes]
    return own + [note for group in groups for note in pooling_notes(group)]


def _names(groups: Sequence[Experiment]) -> str:
    return ", ".join(group.env for group in groups) if len(groups) <= FEW else f"{len(groups)} environments"


def _tables(groups: Sequence[Experiment], tasks: Tasks | None) -> list[Table]:
    """First what holds over all tasks; what the tables of tasks say already is not said again."""
    tables: list[Table] = tasks_tables(tasks) if tasks else []
    for group in groups:
        is_task = tasks is not None and group.env in tasks.names
        tables += score_tables(group) if not is_task or group.score.is_rate else []
        tables += tag_tables(group)
        altered, cost = altered_table(group), None if is_task else cost_table(group)
        tables += [table for table in (altered, cost) if table]
    return tables


def _write_or_remove(path: Path, facts: Any) -> None:
    """What an earlier report over other runs left would pass for a part of this one."""
    if facts:
        write_json(path, facts)
    else:
        path.unlink(missing_ok=True)


def _write_figures(
    out: Path, groups: Sequence[Experiment], tasks: Tasks | None, remembered: Sequence[Cross]
) -> tuple[Path, ...]:
    figures = {
        "tasks": tasks_figure(tasks),
        "heatmap": heatmap(groups),
        "horizon": horizon(groups),
        "sweeps": sweep_figure(sweeps(groups)),
        "recall": cross_plot(remembered),
        "learning_curves": learning_curves(groups),
    }
    return tuple(path for name, figure in figures.items() for path in _write_figure(out, name, figure))


def _write_figure(out: Path, name: str, figure: Figure | None) -> list[Path]:
    paths = [out / f"{name}.{kind}" for kind in ("png", "svg")]
    if figure is None:
        # A figure of an earlier report over other runs would pass for one of this report.
        for path in paths:
            path.unlink(missing_ok=True)
        return []
    for path in paths:
        write_atomically(path, render(figure, path.suffix[1:]))
    return paths


def _markdown(title: str, tables: Sequence[Table], notes: Sequence[str], figures: Sequence[Path]) -> str:
    parts = [f"# {escape_markdown(title)}"]
    if notes:
        parts.append("\n".join(f"- Note: {escape_markdown(note)}" for note in notes))
    parts += [f"{escape_markdown(table.caption)}\n\n{table.to_markdown()}" for table in tables]
    parts += [f"![{ALT[path.stem]}]({path.name})" for path in figures if path.suffix == ".png"]
    parts.append("## How each number was computed")
    parts.append("\n".join(f"- **{term}**: {text}" for term, text in METHODS))
    return "\n\n".join(parts) + "\n"
