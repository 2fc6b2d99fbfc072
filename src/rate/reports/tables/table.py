"""The tables of a report: one row per run and case for machines, one row per model for people.

A cell reads `rate [low, high]` with the Wilson 95 % interval, or `mean ± SEM` for returns; several runs add their own.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from rate.evaluation.familiar import share_familiar
from rate.evaluation.intervals import Interval
from rate.reports.reading.runs import Cost, RunSummary
from rate.reports.reading.scores import CaseScore, Experiment, ModelScores, judge
from rate.score import Score

NOT_EVALUATED = "not evaluated"
COST_HEADER = (
    "Model",
    "Optimiser steps",
    "Training time",
    "Batch",
    "Threads",
    "ms per step of the batch",
    "Acting steps",
    "Acting time",
)


class Row(TypedDict):
    """One run in one case: an entry of summary.json."""

    run: str
    model: str
    env: str
    case: str
    intervention: str
    """What was changed in the policy while it acted; empty: nothing."""
    prompt: str
    """Which return-to-go it was shown."""
    episodes: int
    metric: str
    value: float
    low: float | None
    """None where a single episode gives no bound."""
    high: float | None
    familiar: float | None
    """Share of the episodes whose first observation training held; None where that is not known."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Text in rows and columns; the first column names the row."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_markdown(self) -> str:
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(map(escape_markdown, line))} |" for line in lines)


def summary_rows(runs: Iterable[RunSummary]) -> list[Row]:
    """Every run and case with its value and bounds."""
    return [row for run in runs for row in _run_rows(run)]


def score_tables(experiment: Experiment) -> list[Table]:
    """One table, or one per training length where models were trained on several."""
    return [score_table(part) for part in experiment.parts]


def score_table(experiment: Experiment) -> Table:
    """One row per model, one column per case in the order of the axis tag."""
    cases = tuple(experiment.cases)
    header = ("Model", "Runs", "Episodes per case", *(cases or ("Result",)))
    return Table(
        caption=f"{experiment.title}: {experiment.score.caption}",
        header=header,
        rows=tuple(_score_row(model, cases, experiment.score) for model in experiment.models),
    )


def cost_table(experiment: Experiment) -> Table | None:
    """One row per model and batch size; None where no run says what its evaluation cost."""
    rows = tuple(row for model in experiment.models for row in _cost_rows(model))
    caption = f"{experiment.env}: cost of training one run, and of acting in all evaluated cases together"
    return Table(caption=caption, header=COST_HEADER, rows=rows) if rows else None


def format_interval(interval: Interval, *, bounds: bool) -> str:
    """`1.00 [0.96, 1.00]` with the bounds written out, else `4.20 ± 0.31`."""
    value = format_number(interval.value)
    if math.isnan(interval.low):
        return value
    if bounds:
        return f"{value} [{format_number(interval.low)}, {format_number(interval.high)}]"
    return f"{value} ± {format_number(interval.high - interval.value)}"


def format_score(found: CaseScore, score: Score) -> str:
    """`0.50 [0.40, 0.60] (2 runs: 0.50 ± 0.10, min 0.40)`; one run has no brackets at the end."""
    pooled = format_interval(found.pooled, bounds=score.is_rate)
    if found.over_runs is None:
        return pooled
    spread, least = format_interval(found.over_runs, bounds=False), format_number(min(found.by_run.values()))
    return f"{pooled} ({len(found.by_run)} runs: {spread}, min {least})"


def format_number(value: float) -> str:
    """Two decimals, one from 100 on."""
    digits = 1 if abs(value) >= 100 else 2
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: a rounded -0.001 is not to read -0.00


def _run_rows(run: RunSummary) -> list[Row]:
    rows = []
    for case in (*run.cases, *run.altered):
        interval = judge(case.records, run.score)
        row = Row(
            run=run.name,
            model=run.model,
            env=run.env,
            case=case.case,
            intervention=case.intervention,
            prompt=case.prompt,
            episodes=len(case.records),
            metric=run.score.name,
            value=interval.value,
            low=or_none(interval.low),
            high=or_none(interval.high),
            familiar=share_familiar(case.records),
        )
        rows.append(row)
    return rows


def _score_row(model: ModelScores, cases: Sequence[str], score: Score) -> tuple[str, ...]:
    runs = str(len(model.runs))
    if 0 < model.evaluated < len(model.runs):
        runs = f"{len(model.runs)} ({model.evaluated} evaluated)"
    cells = [format_score(model.scores[case], score) if case in model.scores else NOT_EVALUATED for case in cases]
    return (model.model, runs, _episode_range(model), *(cells or [NOT_EVALUATED]))


def _episode_range(model: ModelScores) -> str:
    counts = sorted({score.episodes for score in model.scores.values()})
    if not counts:
        return "0"
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _cost_rows(model: ModelScores) -> list[tuple[str, ...]]:
    # Batches of another size are another measurement, so they are never averaged into one number.
    groups: dict[tuple[int, int], list[Cost]] = {}
    for cost in (case.cost for run in model.runs for case in run.cases):
        if cost is not None and cost.env_steps > 0:
            groups.setdefault((cost.batch, cost.threads or 0), []).append(cost)
    training = _training(model.runs)
    return [(model.model, *training, *_acting(groups[key])) for key in sorted(groups)]


def _training(runs: Sequence[RunSummary]) -> tuple[str, str]:
    """Optimiser steps, and the mean time of a run where every run says its own."""
    counts = sorted({run.steps for run in runs})
    steps = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    seconds = [run.train_seconds for run in runs if run.train_seconds is not None]
    return steps, format_seconds(sum(seconds) / len(seconds)) if len(seconds) == len(runs) else "unknown"


def _acting(costs: Sequence[Cost]) -> tuple[str, ...]:
    steps = sum(cost.env_steps for cost in costs)
    weighted = sum(cost.ms_per_step * cost.env_steps for cost in costs) / steps
    threads = costs[0].threads
    duration = format_seconds(sum(cost.seconds for cost in costs))
    return (str(costs[0].batch), str(threads or "unknown"), f"{weighted:.3g}", f"{steps:,}", duration)


def format_seconds(seconds: float) -> str:
    """`12.3 s`, `4 min 05 s`, `2 h 03 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def escape_markdown(text: str) -> str:
    """One line that neither ends a table cell nor is HTML, which Markdown would pass through."""
    return " ".join(html.escape(text, quote=False).replace("|", "\\|").split())


def or_none(value: float) -> float | None:
    """The value, where there is one: JSON has no NaN."""
    return None if math.isnan(value) else value
