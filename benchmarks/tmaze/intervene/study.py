"""What a trained RATE loses with its memory, or with its cache: the paper's RQ1 on T-Maze.

python benchmarks/tmaze/intervene/study.py runs/intervene/rate runs/intervene/rate-cache
Each run is evaluated plainly and under interventions of growing strength; what is recorded already is skipped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import rate
from rate.models.policies.segment import SegmentPolicy

STRENGTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def interventions(policy: SegmentPolicy) -> list[list[str]]:
    """Noise in each thing that is carried, and in both; and the memory of another episode."""
    parts = [part for part in ("memory", "cache") if getattr(policy.slots, part)]
    kinds = [[part] for part in parts] + ([parts] if len(parts) > 1 else [])
    noises = [[f"{part}-noise={strength}" for part in kind] for kind in kinds for strength in STRENGTHS]
    return [["memory-noise=0"], *noises, ["memory-swap"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--length", type=int, default=90)
    parser.add_argument("--out", type=Path, default=Path("runs/intervene/report"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    for path in args.runs:
        run = rate.load(path)
        assert isinstance(run.policy, SegmentPolicy)
        for names in [[], *interventions(run.policy)]:
            for result in run.evaluate(f"length={args.length}", intervene=names, skip_done=True):
                print(path.name, "+".join(names) or "plain", result.success_rate, flush=True)
    rate.write_report(args.runs, args.out)


if __name__ == "__main__":
    main()
