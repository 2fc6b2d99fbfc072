"""Returns of the expert's grades and of random actions, one line per episode.

python benchmarks/memory-maze/behaviour/measure.py --out benchmarks/memory-maze/behaviour/returns.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from rate.envs.memory_maze.env import MemoryMazeEnv
from rate.envs.memory_maze.tasks import player
from rate.envs.spec import PLAYER_STREAM
from rate.seeding import Purpose, episode_seeds


def episode(env: MemoryMazeEnv, grade: str, seed: int) -> float:
    observation, _ = env.reset(seed=seed)
    rng = np.random.default_rng([seed, PLAYER_STREAM])
    act = (lambda seen, before: rng.integers(6)) if grade == "random" else player(env, rng, grade=grade)
    previous: Any = None
    total, over = 0.0, False
    while not over:
        previous = act(observation, previous)
        observation, reward, _, over, _ = env.step(np.int64(previous))
        total += reward
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="lines are added to it")
    parser.add_argument("--sizes", type=int, nargs="+", default=[9])
    parser.add_argument("--grades", nargs="+", default=["good", "noisy", "random"])
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the data set whose episodes are played")
    chosen = parser.parse_args()
    seeds = episode_seeds(Purpose.COLLECT, chosen.seed, chosen.episodes).tolist()
    for size in chosen.sizes:
        env = MemoryMazeEnv(size)
        # Nobody here looks at the pictures.
        env.maze.picture = lambda: np.zeros((64, 64, 3), np.uint8)  # type: ignore[method-assign]
        for grade in chosen.grades:
            returns = [episode(env, grade, seed) for seed in seeds]
            with chosen.out.open("a") as lines:
                for seed, total in zip(seeds, returns, strict=True):
                    line = {"env": f"memory-maze/{size}x{size}", "grade": grade, "seed": seed, "return": total}
                    lines.write(json.dumps(line) + "\n")
            error = np.std(returns, ddof=1) / len(returns) ** 0.5
            print(f"| {size}x{size} | {grade} | {np.mean(returns):.2f} ± {error:.2f} | {len(returns)} |", flush=True)


if __name__ == "__main__":
    main()
