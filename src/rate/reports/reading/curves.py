"""The learning curves of runs as numbers: what was logged against the optimiser step.

A resumed run logs some steps twice; the later line counts, as it belongs to the weights that went on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from rate.reports.reading.runs import RunSummary
from rate.reports.reading.scores import common_score

MAX_POINTS = 400
MAX_CURVES = 12
"""More runs in a panel are drawn as the mean of each model's."""
MAX_ENVS = 12
"""The curves of more environments are left out: hundreds of panels are not read."""

Scale: TypeAlias = Literal["log", "linear", "fraction"]
Series: TypeAlias = dict[float, float]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line of one run, or of the mean over the runs of a model."""

    model: str
    run: str
    steps: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The curves of all runs of one environment for one quantity."""

    title: str
    ylabel: str
    scale: Scale
    curves: tuple[Curve, ...]


def learning_panels(runs: Sequence[RunSummary]) -> list[Panel]:
    """Train loss, validation loss, accuracy or error, and evaluation over training, where they were logged."""
    score = common_score(runs)
    name = score.title.split(" (")[0]
    panels = [
        _panel("Training loss", "Loss", "log", runs, _logged("train/loss")),
        _panel("Validation loss", "Loss", "log", runs, _logged("valid/loss")),
        _panel("Validation accuracy", "Correct actions (fraction)", "fraction", runs, _logged("valid/accuracy")),
        _panel("Validation error", "Mean absolute error of actions", "linear", runs, _logged("valid/absolute_error")),
        _panel(
            f"{name} during training",
            f"{name} (mean over cases)",
            "fraction" if score.is_rate else "linear",
            runs,
            lambda run: evaluation_series(run.metrics, score.name),
        ),
    ]
    return [panel for panel in panels if panel.curves]


def series(metrics: Iterable[Mapping[str, Any]], key: str) -> Series:
    """Step to value, in the order of the steps; values that are not finite are left out."""
    pairs = ((line.get("step"), line.get(key)) for line in metrics)
    found = {float(x): float(y) for x, y in pairs if isinstance(x, (int, float)) and isinstance(y, (int, float))}
    return {step: found[step] for step in sorted(found) if math.isfinite(step + found[step])}


def evaluation_series(metrics: Sequence[Mapping[str, Any]], suffix: str) -> Series:
    """Step to the mean over the cases, at the steps at which every case was evaluated."""
    keys = sorted({key for line in metrics for key in line if key.startswith("eval/") and key.endswith(f"/{suffix}")})
    columns = [series(metrics, key) for key in keys]
    # A mean over a part of the cases is not comparable with the others: easy cases alone would look like progress.
    steps = set.intersection(*(set(column) for column in columns)) if columns else set()
    return {step: math.fsum(column[step] for column in columns) / len(columns) for step in sorted(steps)}


def _logged(key: str) -> Callable[[RunSummary], Series]:
    return lambda run: series(run.metrics, key)


def _panel(
    title: str, ylabel: str, scale: Scale, runs: Sequence[RunSummary], read: Callable[[RunSummary], Series]
) -> Panel:
    logged = [(run, found) for run in runs if (found := read(run))]
    crowded = len(logged) > MAX_CURVES
    shown, points = (_means(logged), MAX_POINTS // 4) if crowded else (logged, MAX_POINTS)
    curves = tuple(_curve(run, found, points) for run, found in shown)
    # A negative log-likelihood of continuous actions may lie below zero, where a log axis shows nothing.
    positive = all(value > 0 for curve in curves for value in curve.values)
    possible: Scale = "linear" if scale == "log" and not positive else scale
    return Panel(title=title, ylabel=ylabel, scale=possible, curves=curves)


def _means(logged: Sequence[tuple[RunSummary, Series]]) -> list[tuple[RunSummary, Series]]:
    """One pair per model: its first run, named as the mean, and the mean at the steps that all of its runs logged."""
    groups: dict[str, list[tuple[RunSummary, Series]]] = {}
    for run, found in logged:
        groups.setdefault(run.model, []).append((run, found))
    return [pair for pairs in groups.values() for pair in _mean(pairs)]


def _mean(pairs: list[tuple[RunSummary, Series]]) -> list[tuple[RunSummary, Series]]:
    """The mean as one pair; runs that share no step stay as they are."""
    (first, steps), count = pairs[0], len(pairs)
    common = [step for step in steps if all(step in found for _, found in pairs)]
    if count == 1 or not common:
        return pairs
    mean = {step: math.fsum(found[step] for _, found in pairs) / count for step in common}
    return [(replace(first, name=f"mean of {count} runs of {first.model}"), mean)]


def _curve(run: RunSummary, found: Series, points: int) -> Curve:
    steps, values = _thin(list(found), points), _thin(list(found.values()), points)
    return Curve(model=run.model, run=run.name, steps=tuple(steps), values=tuple(values))


def _thin(values: Sequence[float], points: int) -> list[float]:
    """Means of consecutive values, so that a long run stays a small picture."""
    parts = np.array_split(np.asarray(values), min(len(values), points))
    return [float(part.mean()) for part in parts]
