"""Success at the k-th corridor of the endless T-Maze, for each of some runs: does memory keep, and is it written anew?

python benchmarks/tmaze-endless/by_corridor.py runs/tmaze-endless/*/seed* > benchmarks/tmaze-endless/by_corridor.jsonl
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import torch

import rate
from rate.envs.tmaze_env import CLUE
from rate.evaluation.evaluator import Evaluator
from rate.evaluation.rollout import LockStep

CORRIDORS, EPISODES = 10, 100


def by_corridor(run: rate.Run) -> dict[str, list[float]]:
    """Of the turns at corridor k: the share that was right, and of the episodes: the share that came so far."""
    spec, right = rate.ENVS.get("tmaze-endless"), np.zeros((EPISODES, CORRIDORS))
    turned, at = np.zeros((EPISODES, CORRIDORS), bool), np.zeros(EPISODES, int)

    def watch(step: LockStep) -> None:
        whole = step.number < case.max_steps
        left = (step.observation[:, CLUE] != 0) | (step.ended & whole)  # the next corridor is entered, or the last left
        rows = step.rows[step.alive & left]
        turned[rows, at[rows]] = True
        right[rows, at[rows]] = step.reward[step.alive & left] > 0
        at[rows] += 1

    case = spec.case(corridors=CORRIDORS)
    config = replace(run.config.eval, episodes=EPISODES, batch=EPISODES)
    Evaluator(spec=spec, config=config, return_scale=run.config.data.return_scale).play(run.policy, case, watch)
    shares = right.sum(0) / np.maximum(turned.sum(0), 1)
    return {"right": shares.round(3).tolist(), "reached": turned.mean(0).round(3).tolist()}


def main() -> None:
    torch.set_num_threads(1)
    for path in sys.argv[1:]:
        run = rate.Run.load(path)
        line = {"run": "/".join(path.rstrip("/").split("/")[-2:]), "model": run.config.model.name, "step": run.step}
        print(json.dumps({**line, **by_corridor(run)}), flush=True)


if __name__ == "__main__":
    main()
