"""What the figures of a report have in common, and the learning curves.

Drawn on Figure objects without pyplot, so nothing is shown and no state is shared; colours are Okabe and Ito's.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.typing import LineStyleType

from rate.reports.reading.curves import MAX_ENVS, Panel, learning_panels
from rate.reports.reading.scores import Experiment

# Grey stands for yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
LINES: tuple[LineStyleType, ...] = ("-", (0, (4, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.4, 1.2, 1.4)))
INK, GRID = "#333333", "#dddddd"


class Style(NamedTuple):
    """How a model is drawn."""

    colour: str
    marker: str
    line: LineStyleType


Styles: TypeAlias = dict[str, Style]


def model_styles(experiments: Sequence[Experiment]) -> Styles:
    """Model to its style, the same in every figure of a report; each round of colours has another line and markers."""
    parts = [part for experiment in experiments for part in experiment.parts]
    names = dict.fromkeys(model.model for part in parts for model in part.models)
    rounds = [(name, *divmod(at, len(COLOURS))) for at, name in enumerate(names)]
    return {
        name: Style(COLOURS[at], MARKERS[(at + turn) % len(MARKERS)], LINES[turn % len(LINES)])
        for name, turn, at in rounds
    }


def learning_curves(experiments: Sequence[Experiment]) -> Figure | None:
    """All panels in one figure, two or the training lengths in a row; None where nothing was logged, or too much."""
    panels = [pair for item in experiments for pair in _panels(item)] if len(experiments) <= MAX_ENVS else []
    if not panels:
        return None
    styles = model_styles(experiments)
    columns = min(len(panels), max(2, min(3, max(len(item.parts) for item in experiments))))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(4.6 * columns, 3.0 * rows + 0.4)
    for at, (name, panel) in enumerate(panels, start=1):
        _draw_panel(figure.add_subplot(rows, columns, at), panel, styles, f"{name}: {panel.title.lower()}")
    draw_legend(figure, _present([panel for _, panel in panels]), styles)
    return figure


def _panels(experiment: Experiment) -> list[tuple[str, Panel]]:
    """Name of what was trained and panel; the same quantity of all training lengths side by side."""
    found = [(part.short_title, panel) for part in experiment.parts for panel in learning_panels(part.runs)]
    order = list(dict.fromkeys(panel.title for _, panel in found))
    return sorted(found, key=lambda pair: order.index(pair[1].title))


def learning_panel(panel: Panel, styles: Styles) -> Figure:
    """One panel by itself, of a size that a phone can show."""
    figure = new_figure(4.6, 3.3)
    _draw_panel(figure.add_subplot(), panel, styles, panel.title)
    draw_legend(figure, _present([panel]), styles)
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


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _draw_panel(axes: Axes, panel: Panel, styles: Styles, title: str) -> None:
    for curve in panel.curves:
        sparse = len(curve.steps) <= 30
        style = styles[curve.model]
        (line,) = axes.plot(curve.steps, curve.values, color=style.colour, linewidth=1.4, alpha=0.85)
        line.set(marker=style.marker if sparse else "", markersize=3.5, linestyle=style.line)
    if panel.scale == "log":
        log_y(axes)
    elif panel.scale == "fraction":
        axes.set_ylim(-0.03, 1.03)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    finish_axes(axes, title, "Optimiser step", panel.ylabel)


def log_y(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    # Few decades hold too few powers of ten to read a value by.
    if high / low < 3000:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 100 else (1.0, 3.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def finish_axes(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=10, pad=8)
    axes.set_xlabel(xlabel, color=INK, fontsize=9)
    axes.set_ylabel(ylabel, color=INK, fontsize=9)
    axes.grid(True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#888888")
    axes.tick_params(colors=INK, labelsize=8.5)


def draw_legend(figure: Figure, names: Sequence[str], styles: Styles) -> None:
    """One legend below all panels."""
    handles = [
        Line2D([], [], color=style.colour, marker=style.marker, linestyle=style.line, markersize=4.5, linewidth=1.8)
        for style in map(styles.__getitem__, names)
    ]
    entry = 0.7 + 0.085 * max(map(len, names), default=0)  # inches that the longest label takes at this size
    columns = max(1, min(len(handles), int(figure.get_figwidth() // max(1.4, entry))))
    # Matplotlib leaves out a label with an underscore in front.
    labels = [f" {name}" if name.startswith("_") else name for name in names]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9, handlelength=2.8
    )


def _present(panels: Sequence[Panel]) -> list[str]:
    return list(dict.fromkeys(curve.model for panel in panels for curve in panel.curves))


def _short(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e4 else f"{value:g}"
