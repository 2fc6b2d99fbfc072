"""What the figures of Two-Colors have in common: bars by the colour of the pillar, and curves, as reports draw them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from episodes import COLOURS, in_order
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rate.evaluation.intervals import Interval
from rate.recipes.vizdoom import MODELS
from rate.reports.figures import plots
from rate.reports.figures.plots import Style, finish_axes, render

SHOWN = {"all": plots.COLOURS[-1], "red": plots.COLOURS[1], "green": plots.COLOURS[2]}
"""Episodes to the colour of their bars."""
APART = plots.COLOURS[3]
NAMES = {"all": "all episodes", "red": "red pillar", "green": "green pillar"}
BY_COLOUR = {NAMES[way]: Style(SHOWN[way], mark, "-") for way, mark in zip(SHOWN, "Dso", strict=True)}


def styles_of(labels: Sequence[str]) -> dict[str, Style]:
    """A model looks alike in all figures, whichever others there are; its variants have another line."""
    found = {}
    for label in in_order(labels):
        at = next((at for at, name in enumerate(MODELS) if label in (name, f"{name}-150")), len(MODELS) + len(found))
        at %= len(plots.COLOURS)
        found[label] = Style(plots.COLOURS[at], plots.MARKERS[at], "-")
    return found


def bars(axes: Axes, groups: Mapping[str, Mapping[str, Interval]], title: str, ylabel: str) -> None:
    """A group of bars for each label, one for each kind of episodes, with SEM."""
    for at, found in enumerate(groups.values()):
        width = 0.8 / len(found)
        for place, (way, one) in enumerate(found.items()):
            x = at + (place - (len(found) - 1) / 2) * width
            axes.bar(x, one.value, 0.92 * width, color=SHOWN.get(way, APART), zorder=2)
            axes.errorbar(x, one.value, _reach(one), color=plots.INK, capsize=2.5, linewidth=1.1, zorder=3)
    finish_axes(axes, title, "", ylabel)
    axes.grid(False, axis="x")
    axes.set_xticks(range(len(groups)), list(groups))


def curves(axes: Axes, found: Mapping[str, Mapping[float, Interval]], looks: Mapping[str, Style]) -> None:
    """A line for each name, with SEM as bars and as a band."""
    for name, points in found.items():
        xs, style = sorted(points), looks[name]
        values, reach = [points[x].value for x in xs], [_reach(points[x]) for x in xs]
        lows, highs = ([value + sign * one for value, one in zip(values, reach, strict=True)] for sign in (-1, 1))
        axes.fill_between(xs, lows, highs, color=style.colour, alpha=0.12, linewidth=0)
        line = axes.errorbar(xs, values, reach, color=style.colour, marker=style.marker, linestyle=style.line)
        line[0].set(markersize=4.5, markeredgecolor="white", markeredgewidth=0.6, linewidth=1.6)


def colour_legend(figure: Figure) -> None:
    handles = [Patch(color=SHOWN[way], label=NAMES[way]) for way in ("all", *COLOURS)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)


def save(figure: Figure, path: Path) -> None:
    """Returns are compared by length, so all axes begin at 0: last, as they then stop to follow what is drawn."""
    for axes in figure.axes:
        axes.set_ylim(bottom=0)
    path.write_bytes(render(figure, "png"))
    print(path)


def _reach(one: Interval) -> float:
    """One SEM; of a single value it is not known, and none is drawn."""
    return 0.0 if math.isnan(one.high) else one.high - one.value
