"""RQ1 in Two-Colors: what a trained policy loses if its memory, its cached states or both are mixed with noise.

    python benchmarks/vizdoom-two-colors/rq1.py measure runs/vizdoom/{rate,rmt,trxl}/seed* --out rq1.jsonl
    python benchmarks/vizdoom-two-colors/rq1.py draw rq1.jsonl

x = (1 - alpha) x + alpha noise, each time a segment hands it to the next; alpha = 1 puts noise in its place. A line per
run and setting, with values for each episode; draw makes a figure for each model.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drawing import BY_COLOUR, NAMES, bars, curves, save
from episodes import Setting, judge, measure, newest, reader, samples

import rate
from rate.errors import ConfigError
from rate.evaluation.intervals import Interval
from rate.models.acting import read_intervention
from rate.reports.figures.plots import draw_legend, finish_axes, new_figure

KINDS = {
    "memory": ("memory-noise",),
    "cached states": ("cache-noise",),
    "both": ("memory-noise", "cache-noise"),
}
"""What noise is put on, and the interventions for it."""
ALPHAS = (1.0, 0.5, 0.25, 0.75)
"""Shares of noise; what matters most comes first."""
STRENGTH = re.compile(r"=([0-9.]+)")


def settings(run: rate.Run) -> Iterator[Setting]:
    """Plain, then noise on whatever the policy carries from segment to segment."""
    target = run.config.eval.target_return
    assert target is not None, f"{run.path} does not say which return it asks for"
    kinds = [names for names in KINDS.values() if carries(run, names)]
    if not kinds:
        print(f"{run.path} carries neither memory nor cached states", file=sys.stderr)
        return
    yield Setting(target=target)
    for alpha in ALPHAS:
        for names in kinds:
            yield Setting(target=target, intervene=tuple(f"{name}={alpha:g}" for name in names))


def carries(run: rate.Run, names: tuple[str, ...]) -> bool:
    """Whether the policy has what these interventions act on."""
    try:
        for name in names:
            read_intervention(name)[1].check(run.policy)
    except ConfigError:
        return False
    return True


def by_strength(found: list[dict[str, Any]], names: tuple[str, ...]) -> dict[float, dict[str, Interval]]:
    """Alpha to the return of all, red and green episodes; 0 is the plain evaluation."""
    points = {}
    for what in sorted({line["intervene"] for line in found}):
        if what and STRENGTH.sub("", what) != "+".join(names):
            continue
        alpha = float(STRENGTH.findall(what)[0]) if what else 0.0
        (runs,) = samples((line for line in found if line["intervene"] == what), lambda line: line["return"]).values()
        points[alpha] = {way: judge(runs, way) for way in NAMES}
    return dict(sorted(points.items())) if len(points) > 1 else {}


def draw_model(label: str, found: list[dict[str, Any]], to: Path) -> None:
    """Bars for noise in place of what is carried, and a panel for the mixture with each kind."""
    swept = {kind: points for kind, names in KINDS.items() if (points := by_strength(found, names))}
    if not swept:
        return
    figure = new_figure(3.4 * (1 + len(swept)) + 0.6, 3.7)
    widths = (1 + 0.25 * len(swept), *[1] * len(swept))
    first, *others = figure.subplots(1, len(widths), sharey=True, width_ratios=widths)
    full = {f"noise for\n{kind}": points[1.0] for kind, points in swept.items() if 1.0 in points}
    bars(first, {"plain": next(iter(swept.values()))[0.0], **full}, f"{label}, alpha = 1", "Return")
    for axes, (kind, points) in zip(others, swept.items(), strict=True):
        curves(axes, {NAMES[way]: {alpha: one[way] for alpha, one in points.items()} for way in NAMES}, BY_COLOUR)
        finish_axes(axes, f"Noise mixed with {kind}", "Share of noise, alpha", "")
        axes.set_xticks(list(points), [f"{alpha:g}" for alpha in points])
    draw_legend(figure, list(BY_COLOUR), BY_COLOUR)
    save(figure, to)


def draw(file: Path, to: Path) -> None:
    found = newest(file)
    for label in samples(found, lambda line: line["return"]):
        draw_model(label, [line for line in found if line["run"].split("/")[0] == label], to / f"rq1_{label}.png")


if __name__ == "__main__":
    given = reader(__doc__).parse_args()
    measure(given, settings) if given.command == "measure" else draw(given.file, given.to or given.file.parent)
