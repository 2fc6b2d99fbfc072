"""What makes retention an attractor: variants of the T-Maze recipe, judged far beyond training and under disturbance.

python benchmarks/tmaze/retention/study.py --out runs/retention --results benchmarks/tmaze/retention
A disturbed policy has Gaussian noise added to its memory at every segment while it acts: an attractor takes it back.
What has run is not run again; results.json and table.md are written anew after every run.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import rate
from rate.evaluation.evaluator import EvalConfig
from rate.evaluation.intervals import wilson_interval
from rate.models.interventions import Handover, Moment
from rate.models.policies.segment import Carried
from rate.system.files import write_atomically, write_json

HORIZONS = (30, 90, 300, 900, 2400)
DISTURBED = 300
"""Steps of the disturbed episodes: 30 writes of memory."""
SIGMAS = (0.1, 0.2, 0.3, 0.5, 0.7)
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "recipe: noise 0.3": ({}, {}, 5),
    "no noise": ({"memory_noise": 0.0}, {}, 5),
    "no noise, 4 layers, rate 3e-4": ({"memory_noise": 0.0, "layers": 4}, {"learning_rate": 3e-4}, 2),
    "noise 0.3, 4 layers, rate 3e-4": ({"layers": 4}, {"learning_rate": 3e-4}, 2),
}
"""Name to changes of the model, changes of training, and number of seeds."""


class Disturbed(Handover):
    """memory = memory + strength x noise, at every segment."""

    part = "memory"

    def change(self, carried: Carried, at: Moment) -> Carried:
        return replace(carried, memory=carried.memory + self.strength * at.noise(carried.memory, "disturbed"))


rate.INTERVENTIONS.add("memory-disturbed", Disturbed)


def disturbed(run: rate.Run, episodes: int) -> dict[str, int]:
    """Successes under disturbance, per strength of the noise."""
    won = {}
    for sigma in SIGMAS:
        judge = EvalConfig(episodes=episodes, batch=episodes)
        (result,) = run.evaluate(f"length={DISTURBED}", config=judge, intervene=f"memory-disturbed={sigma}")
        won[str(sigma)] = sum(bool(record.success) for record in result.records)
    return won


def run_one(variant: str, seed: int, out: Path, episodes: int, steps: int | None) -> dict[str, Any]:
    """Train and judge one run; the checkpoint is the last one, so nothing is selected on the judged episodes."""
    model, train, _ = VARIANTS[variant]
    base = rate.recipe("tmaze/rate")
    changed = {**train, **({"steps": steps} if steps else {})}
    config = replace(base, model=replace(base.model, **model), train=replace(base.train, **changed), seed=seed)
    began = time.perf_counter()
    run = rate.train_run(config, out, resume=True)
    trained = time.perf_counter() - began
    cases = [f"length={horizon}" for horizon in HORIZONS]
    results = run.evaluate(cases, config=EvalConfig(episodes=episodes, batch=episodes))
    successes = {result.case.name: sum(bool(record.success) for record in result.records) for result in results}
    losses = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    valid = [line["valid/loss"] for line in losses if "valid/loss" in line][-1]
    return {
        "variant": variant,
        "seed": seed,
        "episodes": episodes,
        "successes": successes,
        "disturbed": disturbed(run, episodes),
        "valid_loss": valid,
        "train_seconds": round(trained, 1),
    }


def table(results: list[dict[str, Any]]) -> str:
    """Per variant: the seeds that hold (at least 99 %) at each horizon, and the success under disturbance."""
    groups = {name: [result for result in results if result["variant"] == name] for name in VARIANTS}
    horizons = [f"{horizon} steps" for horizon in HORIZONS]
    lines = _rows("Seeds that hold at", horizons, groups, lambda runs, column: _hold(runs, HORIZONS[column]))
    strengths = [f"noise {sigma}" for sigma in SIGMAS]
    lines += ["", f"Success at {DISTURBED} steps with noise added to memory at every segment while acting:", ""]
    lines += _rows("Success with", strengths, groups, lambda runs, column: _shaken(runs, str(SIGMAS[column])))
    return "\n".join(lines) + "\n"


def _rows(
    title: str,
    columns: list[str],
    groups: dict[str, list[dict[str, Any]]],
    cell: Callable[[list[dict[str, Any]], int], str],
) -> list[str]:
    head = [f"| {title} | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    body = [[cell(runs, index) for index in range(len(columns))] for runs in groups.values() if runs]
    names = [name for name, runs in groups.items() if runs]
    return head + [f"| {name} | {' | '.join(cells)} |" for name, cells in zip(names, body, strict=True)]


def _hold(runs: list[dict[str, Any]], horizon: int) -> str:
    hold = sum(run["successes"][f"length={horizon}"] >= 0.99 * run["episodes"] for run in runs)
    return f"{hold} of {len(runs)}"


def _shaken(runs: list[dict[str, Any]], sigma: str) -> str:
    won, total = sum(run["disturbed"][sigma] for run in runs), sum(run["episodes"] for run in runs)
    interval = wilson_interval(won, total)
    worst = min(run["disturbed"][sigma] / run["episodes"] for run in runs)
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}], worst seed {worst:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/retention"))
    parser.add_argument("--results", type=Path, default=Path("benchmarks/tmaze/retention"))
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--steps", type=int, default=None, help="train for this many steps instead of the recipe's")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.results.mkdir(parents=True, exist_ok=True)
    path = args.results / "results.json"
    results: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    done = {(result["variant"], result["seed"]) for result in results}
    for variant, (_, _, seeds) in VARIANTS.items():
        for seed in range(seeds):
            if (variant, seed) in done:
                continue
            out = args.out / f"{re.sub('[^a-z0-9]+', '-', variant)}-seed{seed}"
            results.append(run_one(variant, seed, out, args.episodes, args.steps))
            write_json(path, results)
            write_atomically(args.results / "table.md", table(results))
            print(json.dumps(results[-1]), flush=True)


if __name__ == "__main__":
    main()
