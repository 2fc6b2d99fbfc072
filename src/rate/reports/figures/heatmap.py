"""The heat map of a report: training length by axis tag of the cases, one panel per model, the score in each cell.

Drawn where a model was trained on two lengths or more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from rate.reports.figures.horizon import axis_title
from rate.reports.figures.plots import INK, new_figure
from rate.reports.reading.scores import Experiment, ModelScores
from rate.reports.tables.table import format_number

COLOURS = colormaps["cividis"]
"""Grows lighter all the way, so that it can be read in grey and by the colour-blind."""
CELL, ROW, MARGIN, WIDEST = 0.37, 0.27, 0.62, 13.0
"""Inches: width and height of a cell, what stands beside and below the cells of a panel, width of a figure."""


def has_heatmap(experiment: Experiment) -> bool:
    return experiment.has_axis and any(len(lengths) > 1 for lengths in experiment.families.values())


def heatmap(experiments: Sequence[Experiment], columns: int | None = None) -> Figure | None:
    """The panels of every environment that has them, `columns` in a row; None where there is none."""
    shown = [Grid(item, columns) for item in experiments if has_heatmap(item)]
    if not shown:
        return None
    figure = new_figure(max(grid.width for grid in shown), sum(grid.height for grid in shown))
    below = figure.subfigures(len(shown), 1, height_ratios=[grid.height for grid in shown], squeeze=False)
    for place, grid in zip(below[:, 0], shown, strict=True):
        grid.draw(place)
    return figure


class Grid:
    """The panels of one environment."""

    def __init__(self, experiment: Experiment, columns: int | None) -> None:
        self.experiment = experiment
        scored = {name: by_length for name, by_length in experiment.families.items() if _any_score(by_length)}
        self.known = {case: value for case, value in experiment.cases.items() if value is not None}
        self.values = sorted(set(self.known.values()))
        self.lengths = sorted({length for by_length in scored.values() for length in by_length})
        self.cells = {name: self._cells(by_length) for name, by_length in scored.items()}
        panel = CELL * len(self.values) + MARGIN
        self.columns = columns or max(1, min(3, len(scored), int(WIDEST // panel)))
        self.rows = math.ceil(len(scored) / self.columns)
        self.width = panel * self.columns + 0.8
        self.height = (ROW * len(self.lengths) + MARGIN) * self.rows + 0.6

    def _cells(self, by_length: Mapping[float, ModelScores]) -> NDArray[np.float64]:
        """Mean score by training length and value of the axis; nan where nothing was evaluated."""
        cells = np.full((len(self.lengths), len(self.values)), math.nan)
        for row, length in enumerate(self.lengths):
            scores = by_length[length].scores if length in by_length else {}
            for column, value in enumerate(self.values):
                found = [scores[case].value for case, at in self.known.items() if at == value and case in scores]
                if found:
                    cells[row, column] = sum(found) / len(found)
        return cells

    def draw(self, figure: SubFigure) -> None:
        scale = self._scale()
        panels = figure.subplots(self.rows, self.columns, squeeze=False)
        for axes in panels.flat[len(self.cells) :]:
            axes.set_axis_off()
        for axes, (name, cells) in zip(panels.flat, self.cells.items(), strict=False):
            self._draw_panel(axes, name, cells, scale)
        unit = axis_title(self.experiment)
        figure.supxlabel(f"Evaluation: {unit[:1].lower()}{unit[1:]}", fontsize=9, color=INK)
        figure.supylabel(f"Training {self.experiment.axis}", fontsize=9, color=INK)
        title = f"{self.experiment.env}: {self.experiment.score.title.split(' (')[0].lower()} by training length"
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)
        bar = figure.colorbar(ScalarMappable(scale, COLOURS), ax=panels, shrink=min(1.0, 2.4 / self.height), aspect=18)
        bar.set_label(self.experiment.score.title, fontsize=9, color=INK)
        bar.ax.tick_params(labelsize=8, colors=INK)
        bar.outline.set_visible(False)

    def _scale(self) -> Normalize:
        if self.experiment.score.is_rate:
            return Normalize(0.0, 1.0)
        found = np.concatenate([cells[~np.isnan(cells)] for cells in self.cells.values()])
        return Normalize(float(found.min()), float(found.max()))

    def _draw_panel(self, axes: Axes, name: str, cells: NDArray[np.float64], scale: Normalize) -> None:
        axes.patch.set(facecolor="white", hatch="/////", edgecolor="#bbbbbb", linewidth=0)  # seen where no cell is
        edges = [np.arange(size + 1) - 0.5 for size in reversed(cells.shape)]
        mesh = axes.pcolormesh(*edges, np.ma.masked_invalid(cells), cmap=COLOURS, norm=scale)
        mesh.set(edgecolor="white", linewidth=0.8)
        for (row, column), value in np.ndenumerate(cells):
            if not math.isnan(value):
                ink = "white" if scale(value) < 0.55 else "black"
                axes.text(column, row, format_number(value), ha="center", va="center", fontsize=7.5, color=ink)
        self._draw_border(axes)
        axes.set_title(name, loc="left", fontsize=9, color=INK, pad=4)
        axes.set_xticks(range(len(self.values)), [f"{value:g}" for value in self.values])
        axes.set_yticks(range(len(self.lengths)), [f"{length:g}" for length in self.lengths])
        axes.tick_params(length=0, labelsize=7.5, colors=INK)
        axes.spines[:].set_visible(False)

    def _draw_border(self, axes: Axes) -> None:
        """The diagonal on which evaluation is as long as training: cells to the left of it lie within."""
        within = [sum(value <= length for value in self.values) - 0.5 for length in self.lengths]
        xs = [x for x in within for _ in range(2)]
        ys = [row + side for row in range(len(within)) for side in (-0.5, 0.5)]
        # White on black is seen on cells of any colour.
        axes.plot(xs, ys, color="black", linewidth=2.6, clip_on=False, solid_capstyle="butt")
        axes.plot(xs, ys, color="white", linewidth=1.2, clip_on=False, linestyle=(0, (3, 2)), dash_capstyle="butt")


def _any_score(by_length: Mapping[float, ModelScores]) -> bool:
    return any(model.scores for model in by_length.values())


def heatmap_words(experiment: Experiment) -> str:
    """The heat map for readers who do not see it: the mean within and beyond the training length."""
    sentences = []
    for name, by_length in experiment.families.items():
        for length, model in sorted(by_length.items()):
            halves: dict[str, list[float]] = {"up to it": [], "beyond it": []}
            for case, value in experiment.cases.items():
                if value is not None and case in model.scores:
                    halves["up to it" if value <= length else "beyond it"].append(model.scores[case].value)
            means = [f"{format_number(sum(found) / len(found))} {where}" for where, found in halves.items() if found]
            if means:
                sentences.append(f"{name}, trained on {length:g}: {', '.join(means)}.")
    return " ".join(sentences)
