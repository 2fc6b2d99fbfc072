"""The tables of the suites `mujoco` and `mujoco-partial` from their raw files, and the paper's columns beside them.

    python benchmarks/mujoco/results.py [DIRECTORY]

DIRECTORY holds mujoco/WALKER-GRADE/MODEL/seedN and mujoco-partial/WALKER-VIEW/MODEL/seedN, as `runs` does; by default
it is `suite`, beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from tables import (
    BOOTSTRAP,
    OVER,
    TIME_HEAD,
    TIMES,
    Runs,
    cell,
    data_return,
    difference_cell,
    mean_cell,
    print_table,
    read_given,
    scores,
    time_rows,
)

from rate.envs.mujoco import REFERENCES
from rate.recipes.mujoco import PARTIAL, TABLE, VIEWS

GRADES = ("medium-expert", "medium", "medium-replay")
TASKS = tuple((walker, grade) for grade in GRADES for walker in REFERENCES)
"""In the paper's order."""
COLUMNS = (("rate", "per-segment"), ("rate", "countdown"), *((model, None) for model in TABLE if model != "rate"))
"""Model and prompt; None: the one that it was judged with."""
PAPER = {
    "RATE": "87.4±0.1 112.5±0.2 108.7±0.5 43.5±0.3 77.4±1.4 80.7±0.7 39.0±0.6 83.7±8.2 73.7±1.4 78.5",
    "DT": "86.8±1.3 107.6±1.8 108.1±0.2 42.6±0.1 67.6±1.0 74.0±1.4 36.6±0.8 82.7±7.0 66.6±3.0 74.7",
    "CQL": "91.6 105.4 108.8 44.4 58.0 72.5 45.5 95.0 77.2 77.6",
    "DMamba (Ota)": "91.9±0.6 111.1±0.3 108.3±0.5 42.8±0.1 83.5±12.5 78.2±0.6 39.6±0.1 82.6±4.6 70.9±4.3 78.8",
    "DMamba (Lv)": "93.5±0.1 111.9±1.8 111.6±1.2 43.8±0.2 98.5±8.2 80.3±0.1 40.8±0.4 89.1±4.3 79.3±1.9 83.2",
    "MambaDM": "86.5±1.2 110.5±0.3 108.8±0.1 42.8±0.1 85.7±7.8 78.2±0.6 39.1±0.1 86.1±2.5 73.4±2.6 79.0",
    "TT": "95.0±0.2 110.0±2.7 101.9±6.8 46.9±0.4 61.1±3.6 79.0±2.8 41.9±2.5 91.5±3.6 82.6±6.9 78.9",
    "TAP": "91.8±0.8 105.5±1.7 107.4±0.9 45.0±0.1 63.4±1.4 64.9±2.1 40.8±0.6 87.3±2.3 66.8±3.1 74.8",
}
"""By task, then the average, as printed in the paper's table."""
DIFFERS = (
    "The paper's columns are of other data and another scale: D4RL's sets, made by SAC in an older version of the "
    "physics, with D4RL's expert as 100. Here linear policies made the data, and their expert is 100. Compare the "
    "order of models and the distance to the data, not the scores."
)
PROMPTS = (
    "`rate` is asked for the whole return at the start of each segment (per-segment, the paper's way) and, with the "
    "same weights, in the usual way (countdown); the others are asked in the usual way, if at all."
)
BASE = "bc-mlp"


def behaviour(runs: Runs, walker: str, setting: str) -> float | None:
    """The normalised mean return of the data."""
    found, (low, high) = data_return(runs, f"{walker}-{setting}"), REFERENCES[walker]
    return None if found is None else 100 * (found - low) / (high - low)


def paper(at: int) -> list[str]:
    return [line.split()[at].replace("±", " ± ") for line in PAPER.values()]


def print_grades(runs: Runs) -> None:
    head = [f"`{model}`" + (f", {prompt}" if prompt else "") for model, prompt in COLUMNS]
    known = [behaviour(runs, *task) for task in TASKS]
    found = [
        [scores(runs.get((f"{walker}-{grade}", model), ()), prompt) for walker, grade in TASKS]
        for model, prompt in COLUMNS
    ]
    rows = []
    for at, ((walker, grade), data) in enumerate(zip(TASKS, known, strict=True)):
        rows.append((grade, walker, number(data), *(cell(column[at]) for column in found), *paper(at)))
    data = None if None in known else np.mean(known)
    rows.append(("mean", "", number(data), *map(mean_cell, found), *paper(-1)))
    titles = ("grade", "walker", "data", *head, *(f"paper: {name}" for name in PAPER))
    print_table("**Nine data sets**, normalised score", titles, rows)
    print(f"{OVER} {BOOTSTRAP}\n\n{PROMPTS}\n\n{DIFFERS}\n")


def print_views(runs: Runs) -> None:
    rows, differences = [], []
    for view in VIEWS:
        found = {
            model: [scores(runs.get((f"{walker}-{view}", model), ())) for walker in REFERENCES] for model in PARTIAL
        }
        for at, walker in enumerate(REFERENCES):
            data = number(behaviour(runs, walker, view))
            rows.append((view, walker, data, *(cell(found[model][at]) for model in PARTIAL)))
        rows.append((view, "mean", "", *(mean_cell(found[model]) for model in PARTIAL)))
        others = [model for model in PARTIAL if model != BASE]
        pairs = (list(zip(found[model], found[BASE], strict=True)) for model in others)
        differences.append((view, *map(difference_cell, pairs)))
    models = [f"`{model}`" for model in PARTIAL]
    print_table("**Partially observed**, normalised score", ("seen", "walker", "data", *models), rows)
    print(f"{OVER} {BOOTSTRAP} The paper has no such table.\n")
    head = ("seen", *(f"`{model}` - `{BASE}`" for model in PARTIAL if model != BASE))
    print_table(f"**Models with a memory or a context minus `{BASE}`**, mean over the walkers", head, differences)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def main() -> None:
    grades, views = read_given(Path(__file__).parent, ("mujoco", "mujoco-partial"))
    print_grades(grades)
    print_views(views)
    print_table("**Times**, `mujoco`", TIME_HEAD, time_rows(grades, TABLE))
    print_table("**Times**, `mujoco-partial`", TIME_HEAD, time_rows(views, PARTIAL))
    print(TIMES)


if __name__ == "__main__":
    main()
