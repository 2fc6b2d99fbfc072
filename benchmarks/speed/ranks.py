"""What a training step costs each of several processes, against one: torchrun --standalone --nproc-per-node 2 FILE.

CPU time of a process, which other work on the machine disturbs little, and wall time, which it does. The recipe
tmaze/rate, batch 64, one thread for each process.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import torch

import rate
from rate.experiment.train import train_run
from rate.training.torchrun import joined

STEPS, WARM = 40, 10


def main() -> None:
    torch.set_num_threads(1)
    fields = {"train.steps": STEPS, "data.episodes": 400, "train.validate_every": 1000, "train.checkpoint_every": 1000}
    config = rate.recipe("tmaze/rate", fields)
    clocks: list[tuple[float, float]] = []

    with joined(torch.device("cpu"), config.train.batch_size) as ranks, tempfile.TemporaryDirectory() as alone:
        out = Path(tempfile.gettempdir()) / "rate-ranks" if ranks.world > 1 else Path(alone) / "run"
        train_run(
            config, out, on_step=lambda *_: clocks.append((time.process_time(), time.perf_counter())), ranks=ranks
        )
    if ranks.writes:
        cpu, wall = (
            1000 * (last - first) / (STEPS - WARM - 1) for first, last in zip(clocks[WARM], clocks[-1], strict=True)
        )
        print(
            json.dumps({"processes": ranks.world, "cpu_ms_per_step": round(cpu, 1), "wall_ms_per_step": round(wall, 1)})
        )


main()
