"""What Atari data costs: bytes per frame on disk, and reading a batch of windows beside a training step.

python benchmarks/atari/cost.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from rate.data.collect import collect
from rate.data.store import TrajectoryStore
from rate.data.windows import Windows
from rate.envs import ENVS
from rate.envs.atari import NAMES
from rate.envs.spec import CollectRequest
from rate.experiment.train import _unroll
from rate.recipes import recipe

REPEATS = 5
WINDOWS = 8
"""Of a batch."""


def seconds(what: Callable[[], object]) -> float:
    """CPU time, after a first time that does not count."""
    what()
    began = time.process_time()
    for _ in range(REPEATS):
        what()
    return (time.process_time() - began) / REPEATS


def measure(env: str, store: TrajectoryStore, size: int) -> str:
    config = recipe(f"{env}/rate")
    windows = Windows(store, np.arange(len(store)), length=config.train.window, start="random", seed=0)
    batch = windows.batch(0, WINDOWS)
    policy = config.model.build(store.spaces)
    objective = config.objective.build(policy, _unroll(config.train))
    optimizer = torch.optim.AdamW(policy.parameters())

    def step() -> None:
        optimizer.zero_grad()
        objective(policy, batch).total.backward()
        optimizer.step()

    read, trained = seconds(lambda: windows.batch(1, WINDOWS)), seconds(step)
    frame = size / (int(store.lengths.sum()) + len(store))
    costs = f"{1e3 * read:.1f} | {1e3 * trained:.0f} | {read / trained:.3f}"
    return f"| {env} | {frame:.0f} | {frame * 5e5 / 1e9:.2f} | {costs} |"


def main() -> None:
    torch.set_num_threads(1)
    print("| game | bytes per frame | GB of 500,000 | read a batch, ms | train a step, ms | share |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as root:
        for env in NAMES:
            where = Path(root) / env.replace("/", "-")
            store = collect(ENVS.get(env), CollectRequest(episodes=2, seed=0, kwargs={"max_steps": 400}), where)
            print(measure(env, store, sum(file.stat().st_size for file in where.rglob("observations*"))), flush=True)


if __name__ == "__main__":
    main()
