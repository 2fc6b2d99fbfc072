"""Tables of trained runs, TASK/MODEL/seedN: what the scripts of MuJoCo and Atari share.

A cell is the mean and its SEM over runs, or over the episodes of a single one; in brackets the runs one by one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from rate.evaluation.intervals import Interval, bootstrap_tasks, mean_sem
from rate.reports.reading.runs import CaseSummary, RunSummary, read_run

Runs: TypeAlias = Mapping[tuple[str, str], Sequence[RunSummary]]
"""Task and model to the runs of its seeds."""
Scores: TypeAlias = Sequence[Sequence[float]]
"""What each episode is worth, by run."""

OVER = (
    "Mean ± SEM over runs, or over the episodes of a single run; in brackets the runs one by one. The last evaluation "
    "of each run counts. `data` is what the behaviour policy reached in the data. Empty: not run."
)
BOOTSTRAP = (
    "In square brackets a 95 % bootstrap interval: runs are resampled within each task, or the episodes where there is "
    "one run. The tasks stay the same, and two runs give intervals that are too narrow."
)
TIMES = (
    "Times are wall-clock as the runs recorded them, on a machine that other work shared: read them as upper bounds. "
    "CPU times are not recorded."
)


def read(directory: Path) -> dict[tuple[str, str], list[RunSummary]]:
    """All runs that were evaluated; a directory that does not exist has none."""
    found: dict[tuple[str, str], list[RunSummary]] = {}
    for path in sorted(file.parent for file in directory.glob("*/*/seed*/eval.jsonl")):
        found.setdefault((path.parts[-3], path.parts[-2]), []).append(read_run(path))
    return found


def read_given(here: Path, suites: Sequence[str]) -> list[dict[tuple[str, str], list[RunSummary]]]:
    """The runs of these suites below the directory that the command line names, or below `suite` beside the script."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else here / "suite"
    found = [read(root / suite) for suite in suites]
    if not any(found):
        sys.exit(f"{root} has no evaluated runs {' or '.join(suites)}/TASK/MODEL/seedN")
    return found


def evaluation(run: RunSummary, prompt: str | None = None) -> CaseSummary | None:
    """Of the case that the run is judged in, as it was meant to act or asked in another way for the same return."""
    name = next(iter(run.config["eval"]["cases"]), "default")
    meant = next((case for case in run.cases if case.case == name), None)
    if meant is None or prompt in (None, meant.prompt):
        return meant
    how = (name, "", prompt, meant.target_return)
    others = (one for one in run.altered if (one.case, one.intervention, one.prompt, one.target_return) == how)
    return next(others, None)


def scores(runs: Iterable[RunSummary], prompt: str | None = None) -> list[list[float]]:
    """Of the runs that were evaluated in this way."""
    found = ((run, evaluation(run, prompt)) for run in runs)
    return [run.score.values(case.records) for run, case in found if case is not None]


def sample(runs: Scores) -> list[float]:
    """What an error is estimated from: the means of several runs, or the episodes of a single one."""
    return [float(np.mean(run)) for run in runs] if len(runs) > 1 else list(runs[0])


def cell(runs: Scores, digits: int = 1) -> str:
    """Mean and SEM, and each run where there are several."""
    if not runs:
        return ""
    found = mean_sem(sample(runs))
    error = found.high - found.value
    text = f"{found.value:,.{digits}f}" + ("" if math.isnan(error) else f" ± {error:,.{digits}f}")
    each = ", ".join(f"{np.mean(run):,.{digits}f}" for run in runs)
    return text if len(runs) == 1 else f"{text} ({each})"


def mean_cell(tasks: Sequence[Scores], digits: int = 1) -> str:
    """The mean over tasks with its interval; where tasks are missing, over how many it is."""
    there = [sample(runs) for runs in tasks if runs]
    if not there:
        return ""
    text = interval(bootstrap_tasks(there, lambda matrix: float(matrix.mean())), digits)
    return text if len(there) == len(tasks) else f"{text}, {len(there)} of {len(tasks)}"


def difference_cell(pairs: Sequence[tuple[Scores, Scores]], digits: int = 1) -> str:
    """First minus second, the mean over the tasks that have both, with its interval."""
    both = [(sample(ours), sample(theirs)) for ours, theirs in pairs if ours and theirs]
    if not both:
        return ""
    count, columns = len(both), [runs for side in zip(*both, strict=True) for runs in side]
    found = bootstrap_tasks(columns, lambda matrix: float(matrix[:, :count].mean() - matrix[:, count:].mean()))
    text = interval(found, digits)
    return text if count == len(pairs) else f"{text}, {count} of {len(pairs)}"


def interval(found: Interval, digits: int) -> str:
    if math.isnan(found.low):
        return f"{found.value:,.{digits}f}"
    return f"{found.value:,.{digits}f} [{found.low:,.{digits}f}, {found.high:,.{digits}f}]"


def data_return(runs: Runs, task: str) -> float | None:
    """Mean return of the data of a task, which its runs share."""
    of_task = (run for (name, _), group in runs.items() if name == task for run in group)
    return next((run.data_return for run in of_task if run.data_return is not None), None)


def time_rows(runs: Runs, models: Sequence[str]) -> list[tuple[str, ...]]:
    """Of each model: runs, optimiser steps, seconds of training and of one evaluation, and threads of the latter."""
    table = []
    for model in models:
        group = [run for (_, name), found in runs.items() if name == model for run in found]
        costs = [case.cost for run in group if (case := evaluation(run)) and case.cost]
        trained = [run.train_seconds for run in group if run.train_seconds is not None]
        steps, threads = {run.steps for run in group}, {cost.threads for cost in costs if cost.threads is not None}
        table.append(
            (
                f"`{model}`",
                str(len(group)),
                span(steps),
                span(trained),
                span([cost.seconds for cost in costs]),
                span(threads),
            )
        )
    return table


TIME_HEAD = ("model", "runs", "optimiser steps", "training, s", "evaluation, s", "threads")


def span(values: Iterable[float]) -> str:
    """Least to highest."""
    shown = list(dict.fromkeys(f"{value:,.0f}" for value in sorted(values)))
    return " to ".join((shown[0], shown[-1])) if len(shown) > 1 else "".join(shown)


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"{title}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n")
