"""The figures of a report: learning curves, and the score against the axis tag (length, size) of the cases.

Drawn on Figure objects without pyplot, so nothing is shown and no state is shared; colours are Okabe and Ito's.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from rate.evaluation.statistics import Interval
from rate.reports.curves import Panel, learning_panels
from rate.reports.scores import CaseScore, Experiment, ModelScores

# Yellow is last: on white it is the hardest to see.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
Point: TypeAlias = tuple[float, Interval]
Styles: TypeAlias = dict[str, tuple[str, str]]
INK, GRID = "#333333", "#dddddd"


def model_styles(experiments: Sequence[Experiment]) -> Styles:
    """Model to colour and marker, the same in every figure of a report."""
    names = dict.fromkeys(model.model for experiment in experiments for model in experiment.models)
    return {
        name: (COLOURS[at % len(COLOURS)], MARKERS[(at + at // len(COLOURS)) % len(MARKERS)])
        for at, name in enumerate(names)
    }


def learning_curves(experiments: Sequence[Experiment]) -> Figure | None:
    """All panels in one figure, two in a row; None where nothing was logged."""
    panels = [(item.env, panel) for item in experiments for panel in learning_panels(item.runs)]
    if not panels:
        return None
    styles = model_styles(experiments)
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = _figure(4.6 * columns, 3.0 * rows + 0.4)
    for at, (env, panel) in enumerate(panels, start=1):
        _draw_panel(figure.add_subplot(rows, columns, at), panel, styles, f"{env}: {panel.title.lower()}")
    _legend(figure, _present([panel for _, panel in panels]), styles)
    return figure


def learning_panel(panel: Panel, styles: Styles) -> Figure:
    """One panel by itself, of a size that a phone can show."""
    figure = _figure(4.6, 3.3)
    _draw_panel(figure.add_subplot(), panel, styles, panel.title)
    _legend(figure, _present([panel]), styles)
    return figure


def horizon(experiments: Sequence[Experiment], width: float = 7.2, styles: Styles | None = None) -> Figure | None:
    """Score against the axis tag, one panel per environment that has one; None where none has."""
    shown = [item for item in experiments if item.has_axis]
    if not shown:
        return None
    styles = styles or model_styles(experiments)
    figure = _figure(width, 3.9 * len(shown))
    for at, experiment in enumerate(shown, start=1):
        _draw_horizon(figure.add_subplot(len(shown), 1, at), experiment, styles)
    names = [model.model for item in shown for model in item.models if model.scores]
    _legend(figure, list(dict.fromkeys(names)), styles)
    return figure


def render(figure: Figure, kind: str) -> bytes:
    """The bytes of a figure as `png` (150 dpi) or `svg`; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a dollar in a name is not a formula
    with matplotlib.rc_context({"svg.hashsalt": "rate"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(buffer, format=kind, dpi=150, facecolor="white", metadata=metadata)
    return buffer.getvalue()


def axis_title(experiment: Experiment) -> str:
    """`Length (environment steps)`."""
    axis = experiment.axis or ""
    name = axis.replace("_", " ").capitalize()
    return f"{name} ({experiment.axis_unit})" if experiment.axis_unit else name


def metric_title(experiment: Experiment) -> str:
    return "Success rate (fraction)" if experiment.metric == "success_rate" else "Return (sum of rewards)"


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _draw_panel(axes: Axes, panel: Panel, styles: Styles, title: str) -> None:
    for curve in panel.curves:
        sparse = len(curve.steps) <= 30
        colour, marker = styles[curve.model]
        (line,) = axes.plot(curve.steps, curve.values, color=colour, linewidth=1.4, alpha=0.85)
        line.set(marker=marker if sparse else "", markersize=3.5)
    if panel.scale == "log":
        _log_y(axes)
    elif panel.scale == "fraction":
        axes.set_ylim(-0.03, 1.03)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    _finish(axes, title, "Optimiser step", panel.ylabel)


def _log_y(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    # Few decades hold too few powers of ten to read a value by.
    if high / low < 3000:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 100 else (1.0, 3.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_horizon(axes: Axes, experiment: Experiment, styles: Styles) -> None:
    known = {case: value for case, value in experiment.cases.items() if value is not None}
    log = min([*known.values(), *experiment.train_lengths]) > 0
    if log:
        axes.set_xscale("log")
    shown = [model for model in experiment.models if any(case in model.scores for case in known)]
    for at, model in enumerate(shown):
        places = _aside(known, at - (len(shown) - 1) / 2, log)
        _draw_runs(axes, places, model, styles[model.model][0])
        points = [(places[case], _drawn(model.scores[case], experiment)) for case in known if case in model.scores]
        _draw_scores(axes, points, styles[model.model])
    if experiment.metric == "success_rate":
        axes.set_ylim(-0.04, 1.04)
    _axis_ticks(axes, sorted(set(known.values())), log)
    for length in experiment.train_lengths:
        _mark_training(axes, length, f"training {experiment.axis} {length:g}")
    name = metric_title(experiment).split(" (")[0].lower()
    title = f"{experiment.env}: {name} by {experiment.axis}"
    _finish(axes, title, axis_title(experiment), metric_title(experiment))
    axes.set_title(title, loc="left", color=INK, fontsize=10, pad=20)  # above the label of the training length


def _aside(values: Mapping[str, float], shift: float, log: bool) -> dict[str, float]:
    """Places a little to one side, so that models of equal score do not hide each other."""
    low, high = min(values.values()), max(values.values())
    if log:
        factor = math.exp(0.006 * shift * (math.log(high / low) or 1.0))
        return {case: value * factor for case, value in values.items()}
    return {case: value + 0.006 * shift * (high - low) for case, value in values.items()}


def _drawn(score: CaseScore, experiment: Experiment) -> Interval:
    """The spread over runs where there are several; pooled episodes would hide it."""
    spread = score.over_runs
    if spread is None:
        return score.pooled
    if experiment.metric != "success_rate":
        return spread
    return Interval(spread.value, max(0.0, spread.low), min(1.0, spread.high))


def _draw_runs(axes: Axes, places: Mapping[str, float], model: ModelScores, colour: str) -> None:
    """A thin line for each of several runs."""
    for run in model.runs if len(model.runs) > 1 else ():
        cases = [case for case in places if case in model.scores and run.name in model.scores[case].by_run]
        values = [model.scores[case].by_run[run.name] for case in cases]
        (line,) = axes.plot([places[case] for case in cases], values, color=colour, linewidth=0.8, alpha=0.35)
        line.set(marker=".", markersize=4, markeredgewidth=0)


def _draw_scores(axes: Axes, points: Sequence[Point], style: tuple[str, str]) -> None:
    colour, marker = style
    xs = [value for value, _ in points]
    lows = [interval.value if math.isnan(interval.low) else interval.low for _, interval in points]
    highs = [interval.value if math.isnan(interval.high) else interval.high for _, interval in points]
    axes.fill_between(xs, lows, highs, color=colour, alpha=0.12, linewidth=0)
    axes.vlines(xs, lows, highs, color=colour, linewidth=1.2, alpha=0.8)
    centres = [interval.value for _, interval in points]
    (line,) = axes.plot(xs, centres, color=colour, linewidth=1.6)
    line.set(marker=marker, markersize=5.5, markeredgecolor="white", markeredgewidth=0.6)


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


def _finish(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=10, pad=8)
    axes.set_xlabel(xlabel, color=INK, fontsize=9)
    axes.set_ylabel(ylabel, color=INK, fontsize=9)
    axes.grid(True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#888888")
    axes.tick_params(colors=INK, labelsize=8.5)


def _legend(figure: Figure, names: Sequence[str], styles: Styles) -> None:
    handles = [
        Line2D([], [], color=styles[name][0], marker=styles[name][1], markersize=4.5, linewidth=1.8) for name in names
    ]
    entry = 0.6 + 0.085 * max(map(len, names), default=0)  # inches that the longest label takes at this size
    columns = max(1, min(len(handles), int(figure.get_figwidth() // max(1.4, entry))))
    # Matplotlib leaves out a label with an underscore in front.
    labels = [f" {name}" if name.startswith("_") else name for name in names]
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def _present(panels: Sequence[Panel]) -> list[str]:
    return list(dict.fromkeys(curve.model for panel in panels for curve in panel.curves))


def _short(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e4 else f"{value:g}"
