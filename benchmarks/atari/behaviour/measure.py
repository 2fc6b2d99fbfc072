"""Measure the scripted players of the four games, and random actions beside them.

    python benchmarks/atari/behaviour/measure.py --out benchmarks/atari/behaviour/returns.jsonl

One line per episode; what is there already is not played again. Games are cut at --max-steps, since the players seldom
lose all their lives.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path

import numpy as np

from rate.envs.atari.emulator import AtariEnv
from rate.envs.atari.tasks import GAMES, player
from rate.envs.demonstrate import distracted, episode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/atari/behaviour/returns.jsonl"))
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--max-steps", type=int, default=3000)
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        done = {tuple(json.loads(line)[key] for key in ("game", "player", "seed")) for line in options.out.open()}
    for seed in range(options.episodes):
        for name in ("random", "spread=0.0", "spread=0.1"):
            for game in GAMES:
                if (game.name, name, seed) in done:
                    continue
                env, began = AtariEnv(game.name, max_steps=options.max_steps), time.process_time()
                if name == "random":
                    item = episode(env, lambda env, rng: distracted(lambda *seen: 0, env.action_space, rng, 1.0), seed)
                else:
                    item = episode(env, partial(player, game, spread=float(name.removeprefix("spread="))), seed)
                line = {
                    "game": game.name,
                    "player": name,
                    "seed": seed,
                    "score": float(np.sum(item.rewards)),
                    "steps": len(item),
                    "lives": env.ale.lives(),
                    "over": bool(item.terminations[-1]),
                    "cpu_seconds": round(time.process_time() - began, 2),
                }
                env.close()
                with options.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
