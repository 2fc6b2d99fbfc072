"""Steps per second of the package and of this library, in turn, with the same actions in the same maze.

python benchmarks/memory-maze/speed.py --out benchmarks/memory-maze/speed.jsonl
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

STEPS = 300
ROUNDS = 3
# Each in a process of its own: the drawing of one disturbs the other's.
TIMED = """
import sys, time
import numpy as np
from rate.envs.memory_maze.env import MemoryMazeEnv
from rate.envs.memory_maze.graphics import package

who, steps = sys.argv[1], int(sys.argv[2])
began = time.process_time(), time.perf_counter()
if who == "package":
    env = package().memory_maze_9x9(seed=3, image_only_obs=True)
    env.reset()
else:
    env = MemoryMazeEnv(9, resolution=int(who))
    env.reset(seed=3)
reset = time.process_time() - began[0]
actions = np.random.default_rng(0).choice([1, 1, 1, 2, 3, 4, 5], steps)
began = time.process_time(), time.perf_counter()
for action in actions:
    env.step(action)
print(steps / (time.process_time() - began[0]), steps / (time.perf_counter() - began[1]), reset)
"""


def timed(who: str) -> dict[str, float | str]:
    words = [sys.executable, "-c", TIMED, who, str(STEPS)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    cpu, wall, reset = map(float, done.stdout.split())
    return {"who": who, "steps per CPU second": cpu, "steps per second": wall, "CPU seconds to the first image": reset}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    rows = [timed(who) for _ in range(ROUNDS) for who in ("package", "64", "32")]
    chosen.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for who in ("package", "64", "32"):
        of_it = [row for row in rows if row["who"] == who]
        medians = [f"{np.median([row[name] for row in of_it]):.3g}" for name in list(rows[0])[1:]]
        print(f"| {who} | {' | '.join(medians)} |")


if __name__ == "__main__":
    main()
