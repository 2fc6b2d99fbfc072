"""The paper's figures of Two-Colors: with and without the pillar, early and late steps, by the return asked for.

    python benchmarks/vizdoom-two-colors/figures.py measure runs/vizdoom/*/seed* --out figures.jsonl
    python benchmarks/vizdoom-two-colors/figures.py draw figures.jsonl

A line per run and setting, with values for each episode; draw makes a set of figures for each length of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from drawing import NAMES, bars, colour_legend, curves, save, styles_of
from episodes import BLOCK, COLOURS, WAYS, Setting, judge, measure, newest, reader, samples

import rate
from rate.reports.figures.plots import draw_legend, finish_axes, new_figure

Lines = list[dict[str, Any]]
SHARES = (1.0, 0.2, 0.6, 1.4, 1.8)
"""Returns that are asked for, as shares of the one of the recipe: that of the data. It is the first."""
PILLARS = {45: "With the pillar", 0: "Without the pillar"}


def settings(run: rate.Run) -> Iterator[Setting]:
    """What the figures need of a run; what matters most comes first."""
    usual = run.config.eval.target_return
    assert usual is not None, f"{run.path} does not say which return it asks for"
    judged = {case.tags["pillar"] for case in run.cases()}
    for pillar in PILLARS:
        if str(pillar) in judged:
            yield Setting(pillar=pillar, target=usual)
    for share in SHARES[1:]:
        yield Setting(target=share * usual)


def plain(found: Lines, pillar: int = 45) -> Lines:
    """Evaluations that ask for the return that the recipe names."""
    return [line for line in found if line["pillar"] == pillar and line["target"] == line["usual"]]


def returns(found: Lines, to: Path) -> None:
    """(a, b) and, for 150 steps of data, the figure of its own: returns, and below them the imbalance."""
    figure = new_figure(9.2, 5.2)
    axes = figure.subplots(2, 2, sharey="row", height_ratios=(2, 1))
    for column, (pillar, title) in enumerate(PILLARS.items()):
        by_label = samples(plain(found, pillar), lambda line: line["return"])
        judged = {label: {way: judge(runs, way) for way in WAYS} for label, runs in by_label.items()}
        apart = {label: {"imbalance": one.pop("imbalance")} for label, one in judged.items()}
        bars(axes[0, column], judged, title, "" if column else "Return")
        bars(axes[1, column], apart, "", "" if column else "Imbalance\n|red - green|")
    colour_legend(figure)
    save(figure, to)


def early_and_late(found: Lines, to: Path) -> None:
    """(c, d): rewards inside of the first window, and of the steps right after it."""
    figure = new_figure(9.2, 3.6)
    for block, axes in enumerate(figure.subplots(1, 2, sharey=True)):
        by_label = samples(plain(found), reward_in(block))
        judged = {label: {way: judge(runs, way) for way in NAMES} for label, runs in by_label.items()}
        title = f"Steps {block * BLOCK} to {block * BLOCK + BLOCK - 1}"
        bars(axes, judged, title, "" if block else "Sum of rewards")
    colour_legend(figure)
    save(figure, to)


def over_time(found: Lines, to: Path) -> None:
    """Rewards of all whole blocks in red and in green episodes: what is forgotten, and when. The dead earn nothing."""
    found = plain(found)
    window, whole = found[0]["window"], range(max(1, found[0]["max_steps"] // BLOCK))
    by_block = {block * BLOCK + BLOCK / 2: samples(found, reward_in(block)) for block in whole}
    labels = list(by_block[BLOCK / 2])
    figure, styles = new_figure(9.2, 3.6), styles_of(labels)
    for colour, axes in zip(COLOURS, figure.subplots(1, 2, sharey=True), strict=True):
        points = {label: {x: judge(one[label], colour) for x, one in by_block.items()} for label in labels}
        curves(axes, points, styles)
        first = colour == COLOURS[0]
        finish_axes(axes, NAMES[colour].capitalize(), "Step", f"Rewards of {BLOCK} steps" if first else "")
        axes.axvline(window, color="grey", linewidth=1, linestyle=":")
        above = {"transform": axes.get_xaxis_transform(), "va": "top", "color": "grey", "fontsize": 8}
        axes.text(window, 1.0, "  longer than the data", **above)
    draw_legend(figure, labels, styles)
    save(figure, to)


def by_target(found: Lines, to: Path) -> None:
    """(e, f, g): the return over the return that is asked for, in all, red and green episodes."""
    found = [line for line in found if line["pillar"] == 45]
    targets = sorted({line["target"] for line in found})
    by_x = {x: samples((line for line in found if line["target"] == x), lambda line: line["return"]) for x in targets}
    styles = styles_of([label for one in by_x.values() for label in one])
    figure = new_figure(11.4, 3.7)
    for way, axes in zip(NAMES, figure.subplots(1, 3, sharey=True), strict=True):
        points = {label: {x: judge(one[label], way) for x, one in by_x.items() if label in one} for label in styles}
        curves(axes, points, styles)
        finish_axes(axes, NAMES[way].capitalize(), "Return that is asked for", "Return" if way == "all" else "")
        axes.set_xticks(targets, [f"{x:.3g}" for x in targets])
    draw_legend(figure, list(styles), styles)
    save(figure, to)


def reward_in(block: int) -> Callable[[dict[str, Any]], list[float]]:
    """What each episode earned in a block of steps, nothing if it was over."""
    return lambda line: [sums[block] if block < len(sums) else 0.0 for sums in line["rewards"]]


def draw(file: Path, to: Path) -> None:
    found = newest(file)
    for window in sorted({line["window"] for line in found}):
        chosen = [line for line in found if line["window"] == window]
        for paint in (returns, early_and_late, over_time, by_target):
            paint(chosen, to / f"{paint.__name__}_{window}.png")


if __name__ == "__main__":
    given = reader(__doc__).parse_args()
    measure(given, settings) if given.command == "measure" else draw(given.file, given.to or given.file.parent)
