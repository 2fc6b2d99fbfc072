"""Many tasks at once: the models of several environments, task by task and over all of them.

A task is an environment that was evaluated in one case. A run is the unit: its episodes are averaged first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rate.evaluation.intervals import Floats, Interval, bootstrap_tasks, iqm, mean_sem
from rate.reports.reading.runs import RunSummary
from rate.reports.reading.scores import Experiment, ModelScores
from rate.reports.tables.table import NOT_EVALUATED, Table, cost_table, format_interval, format_number, or_none
from rate.score import Score

LEAST = 0.1
"""A share of a smaller return of the data would be a ratio to almost nothing."""
SUBSET = "subset"
"""The tag that parts the tasks."""
ALL = "all tasks"
HEADER = ("Model", "Tasks", "Runs per task", "Mean return", "IQM", "Sum of returns", "Share of the data's return")


@dataclass(frozen=True, kw_only=True)
class TaskScores:
    """One environment: what every run of every model reached in it."""

    name: str
    subset: str
    """Empty where the tasks have no such tag."""
    data_return: float | None
    """Mean return of the training data; None where the runs do not tell."""
    returns: Mapping[str, tuple[float, ...]]
    """Model to the mean return of each of its runs."""
    shares: Mapping[str, tuple[float, ...]]
    """The same, divided by the return of the data; models are left out where that is too small or not known."""


@dataclass(frozen=True, kw_only=True)
class Overall:
    """A model over the tasks of a part."""

    model: str
    part: str
    tasks: int
    of_tasks: int
    runs: tuple[int, int]
    """The least and the most runs of a task."""
    mean: Interval
    iqm: Interval
    total: Interval
    share: Interval | None
    share_tasks: int
    """Tasks that the share is taken over."""


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """All tasks of a report."""

    tasks: tuple[TaskScores, ...]
    merged: Experiment
    """The runs of each model in all tasks together, for what they cost."""

    @property
    def models(self) -> list[str]:
        return [model.model for model in self.merged.models]

    @property
    def names(self) -> set[str]:
        return {task.name for task in self.tasks}

    @property
    def parts(self) -> dict[str, list[TaskScores]]:
        """All tasks; and those of each subset, where there are several."""
        subsets = list(dict.fromkeys(task.subset for task in self.tasks if task.subset))
        named = {name: [task for task in self.tasks if task.subset == name] for name in subsets}
        return {ALL: list(self.tasks), **(named if len(named) > 1 else {})}

    @cached_property
    def overall(self) -> list[Overall]:
        """Every model over every part in which it was evaluated."""
        found = [_overall(part, tasks, model) for part, tasks in self.parts.items() for model in self.models]
        return [item for item in found if item]

    def facts(self) -> dict[str, Any]:
        """The content of tasks.json."""
        return {"tasks": [_task_facts(task) for task in self.tasks], "overall": list(map(_facts, self.overall))}


def tasks_of(experiments: Sequence[Experiment]) -> Tasks | None:
    """The environments that were evaluated in one case, if there are several of them."""
    single = [experiment for experiment in experiments if len(experiment.cases) == 1]
    if len(single) < 2:
        return None
    return Tasks(tasks=tuple(map(_task, single)), merged=_merged(single))


def tasks_tables(tasks: Tasks) -> list[Table]:
    """Over all tasks and each subset; then task by task; then what it cost."""
    overall = {part: [item for item in tasks.overall if item.part == part] for part in tasks.parts}
    tables = [_overall_table(part, rows) for part, rows in overall.items() if rows]
    cost = cost_table(tasks.merged)
    return [*tables, _by_task(tasks), *([cost] if cost else [])]


# -------------------------------------------------------------------------------------------------- from runs


def _task(experiment: Experiment) -> TaskScores:
    evaluated = [run for run in experiment.runs if run.cases]
    known = [run.data_return for run in evaluated if run.data_return is not None]
    returns = {model.model: tuple(map(_return, _evaluated(model))) for model in experiment.models if model.scores}
    shares = {model.model: _shares(_evaluated(model)) for model in experiment.models}
    return TaskScores(
        name=experiment.env,
        subset=_subset(evaluated),
        data_return=math.fsum(known) / len(known) if known else None,
        returns=returns,
        shares={model: found for model, found in shares.items() if found},
    )


def _evaluated(model: ModelScores) -> list[RunSummary]:
    return [run for run in model.runs if run.cases]


def _return(run: RunSummary) -> float:
    """The mean over the episodes of a run; the task has one case."""
    return mean_sem([record.episode_return for record in run.cases[0].records]).value


def _shares(runs: Sequence[RunSummary]) -> tuple[float, ...]:
    known = [(run, run.data_return) for run in runs if run.data_return is not None and run.data_return > LEAST]
    return tuple(_return(run) / data_return for run, data_return in known)


def _subset(runs: Sequence[RunSummary]) -> str:
    names = {record.tags.get(SUBSET, "") for run in runs for record in run.cases[0].records}
    return names.pop() if len(names) == 1 else ""


def _merged(experiments: Sequence[Experiment]) -> Experiment:
    models: dict[str, list[RunSummary]] = {}
    for model in (model for experiment in experiments for model in experiment.models):
        models.setdefault(model.model, []).extend(model.runs)
    merged = tuple(
        ModelScores(model=name, family=name, train_length=None, runs=tuple(runs), scores={})
        for name, runs in models.items()
    )
    name = f"{len(experiments)} tasks"
    return Experiment(env=name, score=Score(), axis=None, axis_unit="", cases={}, models=merged)


# ------------------------------------------------------------------------------------------------- statistics


def _overall(part: str, tasks: Sequence[TaskScores], model: str) -> Overall | None:
    scores = [task.returns[model] for task in tasks if model in task.returns]
    shares = [task.shares[model] for task in tasks if model in task.shares]
    if not scores:
        return None
    mean, count = bootstrap_tasks(scores, _mean), len(scores)
    return Overall(
        model=model,
        part=part,
        tasks=count,
        of_tasks=len(tasks),
        runs=(min(map(len, scores)), max(map(len, scores))),
        mean=mean,
        iqm=bootstrap_tasks(scores, iqm),
        total=Interval(mean.value * count, mean.low * count, mean.high * count),
        share=bootstrap_tasks(shares, _mean) if shares else None,
        share_tasks=len(shares),
    )


def _mean(scores: Floats) -> float:
    return float(np.mean(scores))


# ------------------------------------------------------------------------------------------- tables and facts


def _overall_table(part: str, rows: Sequence[Overall]) -> Table:
    caption = _count(rows[0].of_tasks) if part == ALL else f"{_count(rows[0].of_tasks)} of the subset {part}"
    return Table(
        caption=f"{caption}: returns over tasks, with 95 % bootstrap intervals over runs",
        header=HEADER,
        rows=tuple(map(_overall_row, rows)),
    )


def _count(tasks: int) -> str:
    return f"{tasks} task{'' if tasks == 1 else 's'}"


def _overall_row(item: Overall) -> tuple[str, ...]:
    tasks = str(item.tasks) if item.tasks == item.of_tasks else f"{item.tasks} of {item.of_tasks}"
    least, most = item.runs
    runs = str(least) if least == most else f"{least} to {most}"
    numbers = [format_interval(value, bounds=True) for value in (item.mean, item.iqm, item.total)]
    share = "not known"
    if item.share is not None:
        share = format_interval(item.share, bounds=True)
        share += "" if item.share_tasks == item.tasks else f" ({_count(item.share_tasks)})"
    return (item.model, tasks, runs, *numbers, share)


def _by_task(tasks: Tasks) -> Table:
    with_data = any(task.data_return is not None for task in tasks.tasks)
    return Table(
        caption="Task by task: mean return ± standard error over runs",
        header=("Task", *(["Data"] if with_data else []), *tasks.models),
        rows=tuple(_task_row(task, tasks.models, with_data) for task in tasks.tasks),
    )


def _task_row(task: TaskScores, models: Sequence[str], with_data: bool) -> tuple[str, ...]:
    data = [] if not with_data else ["not known" if task.data_return is None else format_number(task.data_return)]
    cells = [
        format_interval(mean_sem(task.returns[model]), bounds=False) if model in task.returns else NOT_EVALUATED
        for model in models
    ]
    return (task.name, *data, *cells)


def _task_facts(task: TaskScores) -> dict[str, Any]:
    models = {
        model: {"runs": list(runs), **_bounds(mean_sem(runs)), "shares": list(task.shares.get(model, ()))}
        for model, runs in task.returns.items()
    }
    return {"env": task.name, "subset": task.subset or None, "data_return": task.data_return, "models": models}


def _facts(item: Overall) -> dict[str, Any]:
    about = {"part": item.part, "model": item.model, "tasks": item.tasks, "of_tasks": item.of_tasks}
    numbers = {"mean": _bounds(item.mean), "iqm": _bounds(item.iqm), "sum": _bounds(item.total)}
    share = _bounds(item.share) if item.share else None
    return {**about, "runs_per_task": list(item.runs), **numbers, "share": share, "share_tasks": item.share_tasks}


def _bounds(interval: Interval) -> dict[str, float | None]:
    return {"value": interval.value, "low": or_none(interval.low), "high": or_none(interval.high)}
