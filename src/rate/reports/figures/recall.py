"""The cross plot of the memory condition: p(a0 | a0) against p(a1 | a1) over training, a panel per model and case.

Drawn where `eval/<case>/recall/<cue>` was logged for two cues. Above the diagonal the two sum to more than 1: memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from rate.reports.figures.plots import INK, finish_axes, new_figure
from rate.reports.reading.curves import series
from rate.reports.reading.runs import RunSummary
from rate.reports.reading.scores import Experiment
from rate.reports.tables.table import Table, format_number

COLOURS = colormaps["coolwarm"]
"""Blue is the beginning of training and red its end, as in the paper."""
UNSETTLED = 0.01
"""The paper leaves out this first share of the optimiser steps."""
PANEL = 3.0
"""Inches: side of a panel."""
HEADER = ("Model", "Case", "Runs", "p(a0 | a0)", "p(a1 | a1)", "Sum", "Correlation over training")


@dataclass(frozen=True, kw_only=True)
class Course:
    """One run in one case: the two probabilities at every step at which both were logged."""

    run: str
    cues: tuple[str, str]
    steps: tuple[float, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def correlation(self) -> float | None:
        """Pearson's; None where a probability never changed."""
        if len(self.steps) < 2 or min(np.ptp(self.first), np.ptp(self.second)) == 0:
            return None
        return float(np.corrcoef(self.first, self.second)[0, 1])


@dataclass(frozen=True, kw_only=True)
class Cross:
    """One panel: the runs of a model in a case."""

    env: str
    model: str
    case: str
    courses: tuple[Course, ...]

    def facts(self) -> dict[str, Any]:
        """JSON values: what was reached at the last step and the correlation over training, both as means over runs."""
        first, second = (_mean([values[-1] for values in column]) for column in self._columns())
        found = [course.correlation for course in self.courses]
        known = [value for value in found if value is not None]
        return {
            "env": self.env,
            "model": self.model,
            "case": self.case,
            "cues": list(self.courses[0].cues),
            "runs": {
                course.run: {"sum": course.first[-1] + course.second[-1], "correlation": course.correlation}
                for course in self.courses
            },
            "last": [first, second],
            "sum": first + second,
            "correlation": _mean(known) if known else None,
        }

    def _columns(self) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
        return [course.first for course in self.courses], [course.second for course in self.courses]


def crosses(experiments: Sequence[Experiment]) -> list[Cross]:
    """The panels of all models and cases for which recall was logged, the models in the order of the report."""
    found = [
        Cross(env=item.env, model=model.model, case=case, courses=courses)
        for item in experiments
        for model in item.models
        for case in _cases(model.runs)
        if (courses := tuple(course for run in model.runs if (course := _course(run, case))))
    ]
    return found


def _cases(runs: Sequence[RunSummary]) -> list[str]:
    """Cases with recall, in the order in which they were logged."""
    keys = dict.fromkeys(key for run in runs for line in run.metrics for key in line)
    parts = [key.split("/") for key in keys]
    return list(
        dict.fromkeys("/".join(part[1:-2]) for part in parts if part[0] == "eval" and part[-2:-1] == ["recall"])
    )


def _course(run: RunSummary, case: str) -> Course | None:
    start = f"eval/{case}/recall/"
    names = dict.fromkeys(key.removeprefix(start) for line in run.metrics for key in line if key.startswith(start))
    cues = [name for name in names if name != "sum"]
    if len(cues) != 2:
        return None
    first, second = (series(run.metrics, start + cue) for cue in cues)
    steps = [step for step in first if step in second and step > UNSETTLED * run.steps]
    if not steps:
        return None
    return Course(
        run=run.name,
        cues=(cues[0], cues[1]),
        steps=tuple(steps),
        first=tuple(first[step] for step in steps),
        second=tuple(second[step] for step in steps),
    )


def recall_table(panels: Sequence[Cross]) -> Table:
    """What every model recalls in the end."""
    rows = []
    for panel in panels:
        facts = panel.facts()
        numbers = [*facts["last"], facts["sum"], facts["correlation"]]
        cells = ["-" if value is None else format_number(value) for value in numbers]
        rows.append((panel.model, panel.case, str(len(panel.courses)), *cells))
    envs = ", ".join(dict.fromkeys(panel.env for panel in panels))
    caption = (
        f"{envs}: probability of the right last action after each cue at the end of training (a sum of 1 is chance)"
    )
    return Table(caption=caption, header=HEADER, rows=tuple(rows))


def cross_plot(panels: Sequence[Cross]) -> Figure | None:
    """A row per model, a column per case; None where there is nothing to draw."""
    if not panels:
        return None
    rows = list(dict.fromkeys((panel.env, panel.model) for panel in panels))
    cases = list(dict.fromkeys(panel.case for panel in panels))
    figure = new_figure(PANEL * len(cases) + 1.0, PANEL * len(rows) + 0.3)
    grid = figure.subplots(len(rows), len(cases), squeeze=False)
    scale = Normalize(0, max(course.steps[-1] for panel in panels for course in panel.courses))
    for axes in grid.flat:
        axes.set_axis_off()
    for panel in panels:
        row, column = rows.index((panel.env, panel.model)), cases.index(panel.case)
        _draw(grid[row, column], panel, scale)
        if column and grid[row, 0].axison:
            grid[row, column].set_ylabel("")  # it is that of the panel to the left
    bar = figure.colorbar(ScalarMappable(scale, COLOURS), ax=grid, shrink=min(1.0, 2.4 / PANEL), aspect=24)
    bar.set_label("Optimiser step", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    bar.outline.set_visible(False)
    return figure


def _draw(axes: Axes, panel: Cross, scale: Normalize) -> None:
    axes.set_axis_on()
    axes.plot([0, 1], [1, 0], color=INK, linestyle=(0, (4, 3)), linewidth=1.0)
    for course in panel.courses:
        axes.plot(course.first, course.second, color="#bbbbbb", linewidth=0.7, zorder=1)
        colours = COLOURS(scale(np.array(course.steps)))
        axes.scatter(course.first, course.second, s=14, c=colours, edgecolors="white", linewidths=0.3, zorder=2)
    facts = panel.facts()
    known = "" if facts["correlation"] is None else f", R = {format_number(facts['correlation'])}"
    low, high = panel.courses[0].cues
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    title = f"{panel.model}: {panel.case}\nsum {format_number(facts['sum'])}{known}"
    finish_axes(axes, title, f"p(right action | cue {low})", f"p(right action | cue {high})")


def recall_words(panels: Sequence[Cross]) -> str:
    """The cross plot for readers who do not see it."""
    return " ".join(
        f"{panel.model}, {panel.case}: the two sum to {format_number(panel.facts()['sum'])} at the end."
        for panel in panels
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
