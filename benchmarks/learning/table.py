"""The table of the suite `learning` from its raw files: by task, case and model, the score of each training seed.

python benchmarks/learning/table.py
python benchmarks/learning/table.py large-batches   # the version before
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from rate.evaluation.intervals import mean_sem, wilson_interval

HERE = Path(__file__).parent
MODELS = ("rate", "dt", "bc-lstm")


def scores(run: Path) -> dict[str, list[float]]:
    """Case to the score of each episode: success, or the return where a task has none."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in (run / "eval.jsonl").read_text().splitlines():
        record = json.loads(line)
        won = record["success"]
        found[record["case"]].append(record["episode_return"] if won is None else float(won))
    return found


def recall(run: Path) -> dict[str, list[float]]:
    """AAR: the last recall on validation seeds, by length; a success can be had without memory."""
    found: dict[str, list[float]] = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        for name, value in json.loads(line).items():
            if name.endswith("recall/sum"):
                found["recall at " + name.split("/")[1]] = [value]
    return found


def cell(runs: list[list[float]], judged_by_success: bool) -> str:
    """Mean over seeds and its interval, and each seed where there are several."""
    each = [sum(values) / len(values) for values in runs]
    if len(runs[0]) == 1:
        return ", ".join(f"{value:.2f}" for value in each)
    pooled = [value for values in runs for value in values]
    if judged_by_success:
        found = wilson_interval(sum(pooled), len(pooled))
        text = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    else:
        found = mean_sem(each if len(each) > 1 else pooled)
        text = f"{found.value:.2f} ± {found.high - found.value:.2f}"
    return text if len(each) == 1 else f"{text} ({', '.join(f'{value:.2f}' for value in each)})"


def main() -> None:
    where = HERE / (sys.argv[1] if len(sys.argv) > 1 else "suite")
    if not where.is_dir():
        sys.exit(f"{where.name} is not there: no run of it has been published yet")
    print("| task | judged on | " + " | ".join(f"`{model}`" for model in MODELS) + " |")
    print("|---" * (2 + len(MODELS)) + "|")
    for task in sorted(path for path in where.iterdir() if path.is_dir()):
        read = recall if task.name == "aar" else scores
        found = {model: [read(run) for run in sorted((task / model).glob("seed*"))] for model in MODELS}
        success = not task.name.endswith("Easy")
        for case in next(iter(found["rate"]), {}):
            row = [[run[case] for run in found[model] if case in run] for model in MODELS]
            print(f"| {task.name} | {case} | " + " | ".join(cell(runs, success) if runs else "" for runs in row) + " |")


if __name__ == "__main__":
    main()
