"""The table of the suite `popgym` from its raw files: what share of the expert's return each model has on each task.

    python benchmarks/popgym/all/results.py [DIRECTORY]

DIRECTORY holds popgym/TASK/MODEL/seedN, as `runs` does; by default it is `suite`, beside this file. Returns of experts
and of random actions are read from `benchmarks/popgym/experts/returns.jsonl`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))

from tables import (
    BOOTSTRAP,
    TIME_HEAD,
    TIMES,
    Runs,
    Scores,
    cell,
    difference_cell,
    mean_cell,
    print_table,
    read_given,
    scores,
    time_rows,
)

from rate.envs.popgym.tasks import FAMILIES, LEVELS, MEMORY, REACTIVE

HERE = Path(__file__).parent
MODELS = ("rate", "dt", "bc-lstm")
RETURNS = HERE.parent / "experts" / "returns.jsonl"
SHARE = (
    "A share is (return - random) / (expert - random), so that random actions have 0 and the expert 1. One training "
    "seed; ± is the standard error over episodes."
)


def known() -> dict[tuple[str, str], float]:
    """Task and kind of player to its mean return."""
    found: dict[tuple[str, str], list[float]] = {}
    for line in map(json.loads, RETURNS.read_text().splitlines()):
        found.setdefault((line["task"], line["kind"]), []).extend(line["returns"])
    return {key: float(np.mean(returns)) for key, returns in found.items()}


def shares(runs: Scores, low: float, high: float) -> list[list[float]]:
    return [[(value - low) / (high - low) for value in run] for run in runs]


def by_task(runs: Runs) -> dict[str, dict[str, list[list[float]]]]:
    """Task to the shares of each model's episodes, run by run."""
    players, found = known(), {}
    for task in (f"{family.name}-{level}" for family in FAMILIES for level in LEVELS):
        limits = players[task, "random"], players[task, "expert"]
        found[task] = {model: shares(scores(runs.get((task, model), ())), *limits) for model in MODELS}
    return found


def print_tasks(runs: Runs) -> None:
    players, rows = known(), []
    for task, models in by_task(runs).items():
        beside = [f"{players[task, kind]:.2f}" for kind in ("random", "expert")]
        returns = [cell(scores(runs.get((task, model), ())), 2) for model in MODELS]
        rows.append((task, *beside, *returns, *(cell(models[model], 2).partition(" ±")[0] for model in MODELS)))
    names = [f"`{model}`" for model in MODELS]
    print_table("**48 tasks**", ("task", "random", "expert", *names, *(f"share, {name}" for name in names)), rows)


def print_means(runs: Runs) -> None:
    found, rows = by_task(runs), []
    for title, subsets in (("memory", (MEMORY,)), ("reactive", (REACTIVE,)), ("all", (MEMORY, REACTIVE))):
        tasks = [f"{one.name}-{level}" for one in FAMILIES if one.subset in subsets for level in LEVELS]
        columns = {model: [found[task][model] for task in tasks] for model in MODELS}
        beyond = (difference_cell(list(zip(columns["rate"], columns[model], strict=True)), 3) for model in MODELS[1:])
        rows.append((f"{len(tasks)} {title}", *(mean_cell(columns[model], 3) for model in MODELS), *beyond))
    head = ("tasks", *(f"`{model}`" for model in MODELS), *(f"`rate` - `{model}`" for model in MODELS[1:]))
    print_table("**Mean share of the expert's return**", head, rows)


def main() -> None:
    (runs,) = read_given(HERE, ("popgym",))
    print_means(runs)
    print(f"{SHARE} {BOOTSTRAP}\n")
    print_tasks(runs)
    print_table("**Times**", TIME_HEAD, time_rows(runs, MODELS))
    print(TIMES)


if __name__ == "__main__":
    main()
