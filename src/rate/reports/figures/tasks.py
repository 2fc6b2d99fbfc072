"""The returns of many tasks in one figure: a row per task, a dot with its standard error per model.

Tasks of a subset stand together; a black tick is the mean return of the training data.
"""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rate.evaluation.intervals import mean_sem
from rate.reports.figures.plots import GRID, Styles, finish_axes, model_styles, new_figure
from rate.reports.tables.tasks import Tasks, TaskScores

ROW = 0.24
"""Inches of a task with up to four models; more models need more."""
SPREAD = 0.62
"""Part of a row over which its models are spread, so that equal returns stay visible."""
FAR = 20.0
"""Where returns reach beyond this, the axis is logarithmic but for the middle: tasks of 1 and of 500 fit on it."""


def tasks_figure(tasks: Tasks | None) -> Figure | None:
    """One panel of all tasks, a heading above each subset; None where there are not several tasks."""
    if tasks is None:
        return None
    rows = _rows(tasks)
    row = ROW * max(1.0, len(tasks.models) / 5)
    figure = new_figure(7.6, row * (len(rows) + 1) + 1.2)
    axes = figure.add_subplot()
    styles = model_styles([tasks.merged])
    for at, task in enumerate(rows):
        if isinstance(task, TaskScores):
            _draw_row(axes, at, task, tasks.models, styles)
    _finish(axes, rows)
    _legend(figure, tasks, styles)
    return figure


def _rows(tasks: Tasks) -> list[TaskScores | str]:
    """From top to bottom; a text is a heading."""
    parts = list(tasks.parts.items())[1:]
    if not parts:
        return list(tasks.tasks)
    named = {task.name for _, inside in parts for task in inside}
    parts.append(("other", [task for task in tasks.tasks if task.name not in named]))
    rows: list[TaskScores | str] = []
    for name, inside in parts:
        rows += [name, *inside] if inside else []
    return rows


def _draw_row(axes: Axes, at: int, task: TaskScores, models: list[str], styles: Styles) -> None:
    if at % 2:
        axes.axhspan(at - 0.5, at + 0.5, color="#f3f4f7", zorder=0, linewidth=0)
    if task.data_return is not None:
        axes.vlines(task.data_return, at - 0.42, at + 0.42, color="black", linewidth=1.6, zorder=2)
    for number, model in enumerate(models):
        if model not in task.returns:
            continue
        style, score = styles[model], mean_sem(task.returns[model])
        place = at + SPREAD * ((number + 0.5) / len(models) - 0.5)
        if not math.isnan(score.low):
            axes.hlines(place, score.low, score.high, color=style.colour, linewidth=1.2, zorder=3)
        (dot,) = axes.plot([score.value], [place], color=style.colour, marker=style.marker, linestyle="", zorder=4)
        dot.set(markersize=4.2, markeredgecolor="white", markeredgewidth=0.4)


def _finish(axes: Axes, rows: list[TaskScores | str]) -> None:
    finish_axes(axes, "Return by task", "Return (mean over runs, bars: one standard error)", "")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    low, high = axes.get_xlim()
    if max(-low, high) > FAR:
        axes.set_xscale("symlog", linthresh=1.0)
    names = [task.name if isinstance(task, TaskScores) else task.capitalize() for task in rows]
    axes.set_yticks(range(len(rows)), names)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set(
            fontsize=7.5 if isinstance(row, TaskScores) else 8.5,
            fontweight="normal" if isinstance(row, TaskScores) else "bold",
        )
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.grid(True, axis="x", color=GRID, linewidth=0.6)


def _legend(figure: Figure, tasks: Tasks, styles: Styles) -> None:
    shown = [(name, styles[name]) for name in tasks.models]
    handles = [
        Line2D([], [], color=style.colour, marker=style.marker, markersize=5, linewidth=1.2) for _, style in shown
    ]
    names = [f" {name}" if name.startswith("_") else name for name, _ in shown]
    if any(task.data_return is not None for task in tasks.tasks):
        handles.append(Line2D([], [], color="black", marker="|", markersize=9, markeredgewidth=1.6, linestyle=""))
        names.append("mean of the training data")
    figure.legend(handles, names, loc="outside lower center", ncols=min(5, len(names)), frameon=False, fontsize=9)
