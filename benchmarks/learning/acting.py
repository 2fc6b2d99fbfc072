"""Success of runs when they act in segments of other lengths than their own, on other episodes than the reported ones.

python benchmarks/learning/acting.py 5,15,30 runs/learning/minigrid-memory/rate/seed* > benchmarks/learning/acting.jsonl
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import torch

import rate

SEED = 777


def main() -> None:
    torch.set_num_threads(1)
    lengths, paths = [int(text) for text in sys.argv[1].split(",")], [Path(text) for text in sys.argv[2:]]
    for path in paths:
        newest = max(path.glob("checkpoints/step_*"), key=lambda step: int(step.name.removeprefix("step_")))
        run = rate.load(newest)  # a checkpoint on its own: nothing is recorded in the run
        judged = replace(run.config.eval, seed=SEED)
        for length in lengths:
            with run.policy.segments_of(length):
                found = {
                    case: run.evaluate(case, config=judged, skip_done=False)[0].success_rate
                    for case in run.config.eval.cases
                }
            line = {"run": "/".join(path.parts[-3:]), "segment_len": length, "seed": SEED}
            print(json.dumps({**line, **{case: share.value for case, share in found.items() if share}}), flush=True)


if __name__ == "__main__":
    main()
