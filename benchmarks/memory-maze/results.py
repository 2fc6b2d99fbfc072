"""The table of the suite `memory-maze` from its raw files, and the paper's row below it.

    python benchmarks/memory-maze/results.py [DIRECTORY]

DIRECTORY holds memory-maze/MODEL/seedN, as `runs` does; by default it is `suite`, beside this file. Returns of random
actions and of the expert's grades are read from `behaviour/returns.jsonl`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from tables import OVER, TIME_HEAD, TIMES, Runs, cell, data_return, print_table, read_given, scores, time_rows

from rate.recipes.memory_maze import MODEL_NAMES

HERE = Path(__file__).parent
PLAYERS = HERE / "behaviour" / "returns.jsonl"
TASK = "memory-maze"
PAPER = {
    "random": "0.00 ± 0.00",
    "data": "4.69",
    "rate": "7.64 ± 0.41",
    "dt": "6.83 ± 0.51",
    "rmt": "7.27 ± 0.21",
    "trxl": "7.12 ± 0.24",
    "bc-lstm": "4.75 ± 0.15",
    "cql-lstm": "0.19 ± 0.02",
}
DIFFERS = "The paper's row is of other data; compare the order of models and the distance to the data, not the returns."


def players() -> dict[str, list[float]]:
    """Player to its return in each episode of the smallest maze."""
    found: dict[str, list[float]] = {}
    for line in map(json.loads, PLAYERS.read_text().splitlines()):
        if line["env"] == "memory-maze/9x9":
            found.setdefault(line["grade"], []).append(line["return"])
    return found


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """Ours, then the paper's."""
    played, data = players(), data_return(runs, TASK)
    ours = (cell(scores(runs.get((TASK, model), ())), 2) for model in MODEL_NAMES)
    good, random = (cell([played[name]], 2) for name in ("good", "random"))
    head = (random, good, "" if data is None else f"{data:.2f}", *ours)
    return [("here", *head), ("paper", PAPER["random"], "", PAPER["data"], *(PAPER[model] for model in MODEL_NAMES))]


def main() -> None:
    (runs,) = read_given(HERE, ("",))
    models = (f"`{model}`" for model in MODEL_NAMES)
    print_table("**Memory Maze 9x9**, return", ("", "random", "good expert", "data", *models), rows(runs))
    print(f"{OVER}\n\n{DIFFERS}\n")
    print_table("**Times**", TIME_HEAD, time_rows({key: runs[key] for key in runs if key[0] == TASK}, MODEL_NAMES))
    print(TIMES)


if __name__ == "__main__":
    main()
