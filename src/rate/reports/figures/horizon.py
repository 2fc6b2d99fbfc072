"""The score against the axis tag (length, size) of the cases: a line per model, a panel per training length.

Models stand slightly beside each other so that equal scores stay visible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from rate.evaluation.intervals import Interval
from rate.reports.figures.plots import INK, Style, Styles, draw_legend, finish_axes, model_styles, new_figure
from rate.reports.reading.scores import CaseScore, Experiment, ModelScores

CROWD = 8
"""More models in a panel are drawn without bands and single runs, which would cover each other."""
Point: TypeAlias = tuple[float, Interval]


def horizon(experiments: Sequence[Experiment], width: float = 7.2, styles: Styles | None = None) -> Figure | None:
    """One panel per environment and training length that has an axis tag; None where none has."""
    shown = [part for item in experiments for part in item.parts if part.has_axis]
    if not shown:
        return None
    styles = styles or model_styles(experiments)
    figure = new_figure(width, 3.9 * len(shown))
    for at, experiment in enumerate(shown, start=1):
        _draw_horizon(figure.add_subplot(len(shown), 1, at), experiment, styles)
    names = [model.model for item in shown for model in item.models if model.scores]
    draw_legend(figure, list(dict.fromkeys(names)), styles)
    return figure


def axis_title(experiment: Experiment) -> str:
    """`Length (environment steps)`."""
    axis = experiment.axis or ""
    name = axis.replace("_", " ").capitalize()
    return f"{name} ({experiment.axis_unit})" if experiment.axis_unit else name


def _draw_horizon(axes: Axes, experiment: Experiment, styles: Styles) -> None:
    known = {case: value for case, value in experiment.cases.items() if value is not None}
    log = min([*known.values(), *experiment.train_lengths]) > 0
    if log:
        axes.set_xscale("log")
    shown = [model for model in experiment.models if any(case in model.scores for case in known)]
    for at, model in enumerate(shown):
        places = _aside(known, (at - (len(shown) - 1) / 2) * min(0.006, 0.04 / len(shown)), log)
        points = [(places[case], _drawn(model.scores[case], experiment)) for case in known if case in model.scores]
        if len(shown) <= CROWD:
            _draw_runs(axes, places, model, styles[model.model].colour)
            _draw_band(axes, points, styles[model.model].colour)
        _draw_scores(axes, points, styles[model.model])
    if experiment.score.is_rate:
        axes.set_ylim(-0.04, 1.04)
    _axis_ticks(axes, sorted(set(known.values())), log)
    for length in experiment.train_lengths:
        _mark_training(axes, length, f"training {experiment.axis} {length:g}")
    name = experiment.score.title.split(" (")[0].lower()
    title = f"{experiment.title}: {name} by {experiment.axis}"
    finish_axes(axes, title, axis_title(experiment), experiment.score.title)
    axes.set_title(title, loc="left", color=INK, fontsize=10, pad=20)  # above the label of the training length


def _aside(values: Mapping[str, float], shift: float, log: bool) -> dict[str, float]:
    """Places a little to one side, so that models of equal score do not hide each other."""
    low, high = min(values.values()), max(values.values())
    if log:
        factor = math.exp(shift * (math.log(high / low) or 1.0))
        return {case: value * factor for case, value in values.items()}
    return {case: value + shift * (high - low) for case, value in values.items()}


def _drawn(score: CaseScore, experiment: Experiment) -> Interval:
    """The spread over runs where there are several; pooled episodes would hide it."""
    spread = score.over_runs
    if spread is None:
        return score.pooled
    if not experiment.score.is_rate:
        return spread
    return Interval(spread.value, max(0.0, spread.low), min(1.0, spread.high))


def _draw_runs(axes: Axes, places: Mapping[str, float], model: ModelScores, colour: str) -> None:
    """A thin line for each of several runs."""
    for run in model.runs if len(model.runs) > 1 else ():
        cases = [case for case in places if case in model.scores and run.name in model.scores[case].by_run]
        values = [model.scores[case].by_run[run.name] for case in cases]
        (line,) = axes.plot([places[case] for case in cases], values, color=colour, linewidth=0.8, alpha=0.35)
        line.set(marker=".", markersize=4, markeredgewidth=0)


def _draw_band(axes: Axes, points: Sequence[Point], colour: str) -> None:
    axes.fill_between([at for at, _ in points], *_bounds(points), color=colour, alpha=0.12, linewidth=0)


def _draw_scores(axes: Axes, points: Sequence[Point], style: Style) -> None:
    xs = [value for value, _ in points]
    axes.vlines(xs, *_bounds(points), color=style.colour, linewidth=1.2, alpha=0.8)
    centres = [interval.value for _, interval in points]
    (line,) = axes.plot(xs, centres, color=style.colour, linestyle=style.line, linewidth=1.6)
    line.set(marker=style.marker, markersize=5.5, markeredgecolor="white", markeredgewidth=0.6)


def _bounds(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """Lower and upper ends; a single episode has no bounds but its value."""
    lows = [interval.value if math.isnan(interval.low) else interval.low for _, interval in points]
    highs = [interval.value if math.isnan(interval.high) else interval.high for _, interval in points]
    return lows, highs


def _axis_ticks(axes: Axes, values: Sequence[float], log: bool) -> None:
    """Ticks at the evaluated values; those whose labels would print over each other go without a label."""
    place = math.log if log else float
    span = place(values[-1]) - place(values[0]) or 1.0
    figure = axes.get_figure(root=True)
    gap = 0.27 / (figure.get_figwidth() - 0.9) * span if figure else 0.0
    kept = [values[0]]
    for value in values[1:]:
        if place(value) - place(kept[-1]) >= gap:
            kept.append(value)
    axes.xaxis.set_major_locator(FixedLocator(kept))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(FixedLocator([value for value in values if value not in kept]))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _mark_training(axes: Axes, length: float, label: str) -> None:
    axes.axvline(length, color=INK, linestyle=(0, (4, 3)), linewidth=1.0, zorder=0)
    axes.annotate(
        label,
        xy=(length, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=8,
        color=INK,
    )
