"""What the data and the training of Memory Maze cost: bytes per step on disk, reading a batch, a training step.

python benchmarks/memory-maze/cost.py --data data/memory-maze-9x9-noisy
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from rate.data.store import TrajectoryStore
from rate.data.windows import Windows
from rate.experiment.train import _unroll
from rate.recipes import recipe
from rate.recipes.memory_maze import MODEL_NAMES

REPEATS = 10


def seconds(what: Callable[[], object]) -> float:
    """CPU time, after a first time that does not count."""
    what()
    began = time.process_time()
    for _ in range(REPEATS):
        what()
    return (time.process_time() - began) / REPEATS


def measure(model: str, store: TrajectoryStore) -> str:
    config = recipe(f"memory-maze/9x9/{model}")
    windows = Windows(store, np.arange(len(store)), length=config.train.window, start="random", seed=0)
    batch = windows.batch(0, config.train.batch_size)
    policy = config.model.build(store.spaces)
    objective = config.objective.build(policy, _unroll(config.train))
    optimizer = torch.optim.AdamW(policy.parameters())

    def step() -> None:
        optimizer.zero_grad()
        objective(policy, batch).total.backward()
        optimizer.step()

    read, trained = seconds(lambda: windows.batch(1, config.train.batch_size)), seconds(step)
    minutes = (read + trained) * config.train.steps / 60
    size = sum(weight.numel() for weight in policy.parameters())
    return f"| {model} | {size:,} | {1e3 * read:.0f} | {1e3 * trained:.0f} | {minutes:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    store = TrajectoryStore.open(chosen.data)
    size = sum(file.stat().st_size for file in chosen.data.rglob("*") if file.is_file())
    print(f"{size / int(store.lengths.sum()):.0f} bytes per step, {size / len(store) / 1e6:.2f} GB per 1,000 episodes")
    print("| model | weights | read a batch, ms | train a step, ms | minutes of the recipe |")
    print("|---|---|---|---|---|")
    for model in MODEL_NAMES:
        print(measure(model, store), flush=True)


if __name__ == "__main__":
    main()
