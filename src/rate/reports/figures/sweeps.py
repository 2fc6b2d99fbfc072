"""Sweeps: the score over the values of one setting, or over the strength of one intervention, a line with intervals.

Any field of the configuration that is a number and differs between otherwise equal runs is an axis.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rate.evaluation.intervals import Interval, mean_sem
from rate.reports.figures.plots import COLOURS, LINES, MARKERS, Style, draw_legend, finish_axes, new_figure
from rate.reports.reading.grouping import follows, settings
from rate.reports.reading.runs import CaseSummary, RunSummary
from rate.reports.reading.scores import Experiment, judge
from rate.reports.tables.table import format_number
from rate.score import Score

LEAST = 3
"""Values that a line has at least."""
CASES = 8
"""Of more cases, as many as can be told apart are drawn, evenly taken."""
PANELS = 12
"""More would not be read."""
STRENGTH = re.compile(r"=([0-9.e+-]+)")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One panel."""

    title: str
    axis: str
    score: Score
    lines: Mapping[str, Mapping[float, Interval]]
    """Name of a line to the score at each value."""


def sweeps(experiments: Sequence[Experiment]) -> list[Sweep]:
    """All panels of a report."""
    found = [sweep for item in experiments for sweep in _by_strength(item)]
    return (found + [sweep for item in experiments for sweep in _by_setting(item)])[:PANELS]


def sweep_figure(panels: Sequence[Sweep], width: float = 4.6) -> Figure | None:
    """Two panels in a row; None where there is nothing to sweep over."""
    if not panels:
        return None
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(width * columns, 3.2 * rows + 0.4)
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    looks = zip(names, range(len(names)), strict=True)
    styles = {name: Style(COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)], LINES[0]) for name, at in looks}
    for at, panel in enumerate(panels, start=1):
        _draw(figure.add_subplot(rows, columns, at), panel, styles)
    draw_legend(figure, names, styles)
    return figure


def sweep_words(panels: Sequence[Sweep]) -> str:
    """The figure for readers who do not see it."""
    sentences = []
    for panel in panels:
        for name, by_value in panel.lines.items():
            values = ", ".join(f"{format_number(one.value)} at {value:g}" for value, one in by_value.items())
            sentences.append(f"{panel.title}, {name}, by {panel.axis}: {values}.")
    return " ".join(sentences)


def _draw(axes: Axes, panel: Sweep, styles: Mapping[str, Style]) -> None:
    for name, by_value in panel.lines.items():
        xs, style = sorted(by_value), styles[name]
        intervals = [by_value[x] for x in xs]
        lows = [one.value if math.isnan(one.low) else one.low for one in intervals]
        highs = [one.value if math.isnan(one.high) else one.high for one in intervals]
        axes.fill_between(xs, lows, highs, color=style.colour, alpha=0.12, linewidth=0)
        axes.vlines(xs, lows, highs, color=style.colour, linewidth=1.2, alpha=0.8)
        (line,) = axes.plot(xs, [one.value for one in intervals], color=style.colour, linewidth=1.6)
        line.set(marker=style.marker, markersize=5, markeredgecolor="white", markeredgewidth=0.6)
    values = sorted({value for by_value in panel.lines.values() for value in by_value})
    if values[0] > 0 and values[-1] / values[0] >= 8:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(values, [f"{value:g}" for value in values])
    if panel.score.is_rate:
        axes.set_ylim(-0.04, 1.04)
    finish_axes(axes, panel.title, panel.axis, panel.score.title)


def _by_strength(experiment: Experiment) -> list[Sweep]:
    """A panel per case: a line for each model and intervention, from the plain evaluation on."""
    found = []
    for case in experiment.cases:
        lines: dict[str, dict[float, Interval]] = {}
        for model in experiment.models:
            plain = [one for run in model.runs for one in run.cases if one.case == case]
            points: dict[str, dict[float, list[CaseSummary]]] = {}
            for one in (one for run in model.runs for one in run.altered if one.case == case and one.intervention):
                by_strength = points.setdefault(f"{model.model}, {_kind(one)}", {0.0: plain} if plain else {})
                by_strength.setdefault(_strength(one), []).append(one)
            lines |= {name: _scored(by_strength, experiment.score) for name, by_strength in points.items()}
        lines = {name: scored for name, scored in lines.items() if len(scored) >= LEAST}
        if lines:
            title = f"{experiment.env}, {case}"
            found.append(Sweep(title=title, axis="Strength of the intervention", score=experiment.score, lines=lines))
    return found


def _kind(case: CaseSummary) -> str:
    """The intervention without its strength; of several, as they were combined."""
    return STRENGTH.sub("", case.intervention)


def _strength(case: CaseSummary) -> float:
    """The one that all of the combined interventions have, else nan."""
    values = {float(value) for value in STRENGTH.findall(case.intervention)}
    return values.pop() if len(values) == 1 else math.nan


def _scored(points: Mapping[float, Sequence[CaseSummary]], score: Score) -> dict[float, Interval]:
    """Over runs where there are several, else over the episodes of the one."""
    found = {}
    for value in sorted(value for value in points if points[value] and not math.isnan(value)):
        each = [judge(one.records, score) for one in points[value]]
        found[value] = each[0] if len(each) == 1 else mean_sem([one.value for one in each])
    return found


def _by_setting(experiment: Experiment) -> list[Sweep]:
    """A panel per model, setting and what differs besides: a line per case."""
    found = []
    for model in dict.fromkeys(map(_model, experiment.runs)):
        runs = [run for run in experiment.runs if _model(run) == model and run.cases]
        for axis in _axes(runs):
            for rest, group in _besides(runs, axis).items():
                lines = _lines(group, axis, experiment)
                if lines:
                    title = f"{experiment.env}, {model}{f' ({rest})' if rest else ''}"
                    found.append(Sweep(title=title, axis=axis, score=experiment.score, lines=lines))
    return found


def _model(run: RunSummary) -> str:
    """The name in the configuration: in a report a model is named with what is special to it."""
    model = run.config.get("model")
    return str(model.get("name")) if isinstance(model, Mapping) else run.model


def _column(runs: Sequence[RunSummary], name: str) -> list[str | None]:
    return [settings(run.config).get(name) for run in runs]


def _axes(runs: Sequence[RunSummary]) -> list[str]:
    """Fields that are numbers in every run and take enough values; not those that follow from another one.

    Training lengths have figures of their own.
    """
    causes: list[list[Any]] = [[run.train_length for run in runs]]
    found = []
    for name in dict.fromkeys(name for run in runs for name in settings(run.config)):
        column = _column(runs, name)
        numbers = {_number(value) for value in column}
        if None in numbers or len(numbers) < LEAST or any(follows(column, cause) for cause in causes):
            continue
        causes.append(column)
        found.append(name)
    return found


def _besides(runs: Sequence[RunSummary], axis: str) -> dict[str, list[RunSummary]]:
    """What differs besides a setting, and does not follow from it, in words -> the runs of which it is so."""
    values = _column(runs, axis)
    names = [name for name in dict.fromkeys(name for run in runs for name in settings(run.config)) if name != axis]
    telling = [name for name in names if not follows(_column(runs, name), values)]
    groups: dict[str, list[RunSummary]] = {}
    for run in runs:
        config = settings(run.config)
        rest = ", ".join(f"{name.rsplit('.', 1)[-1]} {config.get(name, '-')}" for name in telling)
        groups.setdefault(rest, []).append(run)
    return groups


def _lines(runs: Sequence[RunSummary], axis: str, experiment: Experiment) -> dict[str, dict[float, Interval]]:
    every = -(-len(experiment.cases) // CASES)
    lines: dict[str, dict[float, Interval]] = {}
    for case in list(experiment.cases)[::every]:
        points: dict[float, list[CaseSummary]] = {}
        for run, value in zip(runs, _column(runs, axis), strict=True):
            points.setdefault(float(value or 0), []).extend(one for one in run.cases if one.case == case)
        scored = _scored(points, experiment.score)
        if len(scored) >= LEAST:
            lines[case] = scored
    return lines


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
