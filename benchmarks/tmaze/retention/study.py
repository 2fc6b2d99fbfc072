"""What makes retention an attractor: variants of the T-Maze recipe, five seeds each, judged far beyond training.

python benchmarks/tmaze/retention/study.py --out runs/retention --results benchmarks/tmaze/retention
What has run is not run again; results.json and table.md are written anew after every run.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import rate
from rate.evaluation.evaluator import EvalConfig
from rate.evaluation.statistics import wilson_interval
from rate.serial import write_atomically, write_json

HORIZONS = (30, 90, 300, 900, 2400)
DEEP = {"layers": 4}
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "recipe (noise 0.3)": ({}, {}),
    "no noise": ({"memory_noise": 0.0}, {}),
    "4 layers, rate 3e-4, no noise": ({**DEEP, "memory_noise": 0.0}, {"learning_rate": 3e-4}),
    "4 layers, rate 3e-4, noise 0.3": (DEEP, {"learning_rate": 3e-4}),
}
"""Name to (changes of the model, changes of training)."""


def run_one(variant: str, seed: int, out: Path, episodes: int, steps: int | None) -> dict[str, Any]:
    """Train and judge one run; the checkpoint is the last one, so nothing is selected on the judged episodes."""
    model, train = VARIANTS[variant]
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
        "valid_loss": valid,
        "train_seconds": round(trained, 1),
    }


def table(results: list[dict[str, Any]]) -> str:
    """One row per variant: seeds that hold at each horizon, and the pooled success with its interval."""
    lines = [
        "| Variant | Seeds | " + " | ".join(f"{horizon} steps" for horizon in HORIZONS) + " |",
        "| --- | --- | " + " | ".join("---" for _ in HORIZONS) + " |",
    ]
    for variant in VARIANTS:
        runs = [result for result in results if result["variant"] == variant]
        if runs:
            lines.append(
                f"| {variant} | {len(runs)} | " + " | ".join(_cell(runs, horizon) for horizon in HORIZONS) + " |"
            )
    return "\n".join(lines) + "\n"


def _cell(runs: list[dict[str, Any]], horizon: int) -> str:
    wins = [run["successes"][f"length={horizon}"] for run in runs]
    total = sum(run["episodes"] for run in runs)
    pooled = wilson_interval(sum(wins), total)
    hold = sum(won >= 0.99 * run["episodes"] for won, run in zip(wins, runs, strict=True))
    return f"{hold} of {len(runs)} hold; {pooled.value:.2f} [{pooled.low:.2f}, {pooled.high:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/retention"))
    parser.add_argument("--results", type=Path, default=Path("benchmarks/tmaze/retention"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--steps", type=int, default=None, help="train for this many steps instead of the recipe's")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.results.mkdir(parents=True, exist_ok=True)
    path = args.results / "results.json"
    results: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    done = {(result["variant"], result["seed"]) for result in results}
    for seed in range(args.seeds):
        for number, variant in enumerate(VARIANTS):
            if (variant, seed) not in done:
                out = args.out / f"{number}-seed{seed}"
                results.append(run_one(variant, seed, out, args.episodes, args.steps))
                write_json(path, results)
                write_atomically(args.results / "table.md", table(results))
                print(json.dumps(results[-1]), flush=True)


if __name__ == "__main__":
    main()
