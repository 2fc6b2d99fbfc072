"""Peak of resident memory of a short training, for each of some recipes, each in a process of its own.

rate collect atari/pong --episodes 334 --set max_steps=1500 --workers 2 --out data/pong-500000
python benchmarks/memory.py data/pong-500000 atari/pong/rate
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
from pathlib import Path

import torch

import rate

STEPS = 24


def peak(recipe: str, data: str) -> float:
    """Megabytes, the interpreter and its libraries among them."""
    torch.set_num_threads(1)
    # The last stage of the windows alone: the whole length from the first step on.
    changes = {"train.steps": STEPS, "train.validate_every": STEPS, "train.windows": (), "data.path": data}
    with tempfile.TemporaryDirectory() as root:
        rate.train_run(rate.recipe(recipe, changes), Path(root) / "run")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    data, *recipes = sys.argv[1:]
    for recipe in recipes:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(f"| {recipe} | {pool.apply(peak, (recipe, data)):,.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
