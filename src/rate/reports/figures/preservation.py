"""The figure of the preservation probe: how much each update changes memory, the theorem's bound, and its alpha.

It takes plain numbers, so that reports know neither models nor probes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rate.evaluation.intervals import Interval
from rate.reports.figures.plots import COLOURS, INK, finish_axes, log_y, new_figure, render
from rate.system.files import write_atomically, write_json


@dataclass(frozen=True, kw_only=True)
class PreservationCurves:
    """A value per update each, with its smallest and largest episode; None where the valve has no such value."""

    updates: Sequence[int]
    change: Sequence[Interval]
    moved: Sequence[Interval]
    bound: Sequence[Interval] | None
    alignment: Sequence[Interval] | None


def write_preservation(out: Path, facts: Mapping[str, Any], curves: PreservationCurves, title: str) -> None:
    """Write probe.json, preservation.png and preservation.svg into a directory."""
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "probe.json", facts)
    figure = preservation_figure(curves, title)
    for kind in ("png", "svg"):
        write_atomically(out / f"preservation.{kind}", render(figure, kind))


def preservation_figure(curves: PreservationCurves, title: str) -> Figure:
    """Change and bound in the first panel, alpha in the second; without alpha there is one panel."""
    panels = 1 if curves.alignment is None else 2
    figure = new_figure(7.2, 3.2 if panels == 1 else 4.8)
    grid = figure.add_gridspec(panels, 1, height_ratios=[2, 1][:panels])
    axes = figure.add_subplot(grid[0])
    draw(axes, curves.updates, curves.change, COLOURS[0], "-", "change of memory")
    draw(axes, curves.updates, curves.moved, COLOURS[1], "--", "with unit rows (left side)")
    if curves.bound is not None:
        draw(axes, curves.updates, curves.bound, COLOURS[2], ":", "bound (right side)")
    # What counts is the order of magnitude of the late changes; memory that does not change at all has none.
    if min(one.low for one in (*curves.change, *curves.moved, *(curves.bound or ()))) > 0:
        log_y(axes)
    finish_axes(axes, title, "Update of memory", "Relative change")
    if curves.alignment is not None:
        below = figure.add_subplot(grid[1], sharex=axes)
        draw(below, curves.updates, curves.alignment, COLOURS[3], "-", "alignment")
        below.axhline(0, color=INK, linestyle=(0, (4, 3)), linewidth=1.0, zorder=0)
        finish_axes(below, "", "Update of memory", "Alignment α")
        axes.label_outer()
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def draw(axes: Axes, updates: Sequence[int], values: Sequence[Interval], colour: str, style: str, label: str) -> None:
    """The mean as a line, the range over episodes as a band."""
    lows, highs = [one.low for one in values], [one.high for one in values]
    axes.fill_between(updates, lows, highs, color=colour, alpha=0.15, linewidth=0)
    (line,) = axes.plot(updates, [one.value for one in values], style, color=colour, linewidth=1.5, label=label)
    line.set(marker="o" if len(values) <= 40 else "", markersize=3.5)
