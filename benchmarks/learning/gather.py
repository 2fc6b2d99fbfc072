"""One line per run of a directory of runs: what it was, how it went, how it was judged.

python benchmarks/learning/gather.py runs/study > benchmarks/learning/results.jsonl
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

MODEL = (
    "name", "segment_len", "memory_tokens", "cache_tokens", "valve", "valve_bias", "valve_start", "valve_activation",
    "memory_noise", "memory_noise_from", "memory_noise_ramp", "memory_noise_unit", "encoder",
    "return_to_go", "previous_action", "timesteps", "clock", "width", "layers", "feed_forward",
)  # fmt: skip
TRAIN = (
    "window", "steps", "batch_size", "learning_rate", "betas", "clip", "surge", "average", "action_noise",
    "segment_lens", "turns",
)  # fmt: skip


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def judged(run: Path) -> dict[str, Any]:
    """By case: episodes, mean return and success rate; the last evaluation of each case alone."""
    episodes: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for record in lines(run / "eval.jsonl"):
        episodes[record["case"]][record["evaluation"]].append(record)
    found = {}
    for case, evaluations in episodes.items():
        records = list(evaluations.values())[-1]
        wins = [record["success"] for record in records if record["success"] is not None]
        found[case] = {
            "episodes": len(records),
            "return": round(sum(record["episode_return"] for record in records) / len(records), 4),
            **({"success": round(sum(wins) / len(wins), 4)} if wins else {}),
        }
    return found


def summary(run: Path, root: Path) -> dict[str, Any]:
    config, metrics = json.loads((run / "config.json").read_text()), lines(run / "metrics.jsonl")
    curve = {line["step"]: round(line["valid/loss"], 4) for line in metrics if "valid/loss" in line}
    returns: dict[int, dict[str, float]] = defaultdict(dict)
    for line in metrics:
        for name, value in line.items():
            if name.startswith("eval/"):
                returns[line["step"]][name.removeprefix("eval/")] = round(value, 4)
    return {
        "run": str(run.relative_to(root)),
        "env": config["env"]["name"],
        "seed": config["seed"],
        "model": {name: config["model"][name] for name in MODEL if name in config["model"]},
        "train": {name: config["train"][name] for name in TRAIN if name in config["train"]},
        "episodes": config["data"]["episodes"],
        "reached": max((line["step"] for line in metrics), default=0),
        "valid_loss": curve,
        "evaluated": returns,
        "judged": judged(run),
    }


if __name__ == "__main__":
    root = Path(sys.argv[1])
    for config in sorted(root.rglob("config.json")):
        print(json.dumps(summary(config.parent, root)))
