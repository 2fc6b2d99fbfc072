"""Peak of resident memory of a training on a large set of Atari data.

rate collect atari/pong --episodes 334 --set max_steps=1500 --workers 2 --out data/pong-500000
python benchmarks/atari/memory.py data/pong-500000
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

import torch

import rate


def main() -> None:
    torch.set_num_threads(1)
    changes = {"train.steps": 24, "train.validate_every": 24, "data.path": sys.argv[1]}
    with tempfile.TemporaryDirectory() as root:
        rate.train_run(rate.recipe("atari/pong/rate", changes), Path(root) / "run")
    print(f"peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
