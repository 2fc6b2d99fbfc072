"""Measure the scripted players of the four games, random actions beside them, and what the players cost.

    python benchmarks/atari/behaviour/measure.py --out benchmarks/atari/behaviour/returns.jsonl

One line per episode; what is there already is not played again. Games are cut at --max-steps, since the players seldom
lose all their lives. The actions of every episode of a player are then played again in a bare loop over the same
environment: `returns.speed.json` beside the lines has steps per second of CPU time of both, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rate.envs.atari.emulator import AtariEnv
from rate.envs.atari.tasks import GAMES, Game, player
from rate.envs.demonstrate import distracted, episode
from rate.types import Array

PLAYERS = ("random", "spread=0.0", "spread=0.2")


def measure(game: Game, name: str, seed: int, max_steps: int) -> dict[str, Any]:
    """One episode."""
    env, began = AtariEnv(game.name, max_steps=max_steps), time.process_time()
    if name == "random":
        item = episode(env, lambda env, rng: distracted(lambda *seen: 0, env.action_space, rng, 1.0), seed)
    else:
        item = episode(env, partial(player, game, spread=float(name.removeprefix("spread="))), seed)
    seconds = time.process_time() - began
    line = {
        "game": game.name,
        "player": name,
        "seed": seed,
        "score": float(np.sum(item.rewards)),
        "steps": len(item),
        "lives": env.lives,
        "over": bool(item.terminations[-1]),
        "cpu_seconds": round(seconds, 3),
        "bare_seconds": round(bare(env, item.actions, seed), 3),
    }
    env.close()
    return line


def bare(env: AtariEnv, actions: Array, seed: int) -> float:
    """CPU time of the same steps without a player and without a record."""
    began = time.process_time()
    env.reset(seed=seed)
    for action in actions:
        env.step(action)
    return time.process_time() - began


def speeds(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Steps per second of each player in each game, over all its episodes."""
    sums: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        each = sums.setdefault((line["game"], line["player"]), [0.0, 0.0, 0.0])
        for i, key in enumerate(("steps", "cpu_seconds", "bare_seconds")):
            each[i] += line[key]
    told: dict[str, dict[str, dict[str, float]]] = {}
    for (game, name), (steps, played, alone) in sums.items():
        speed = {"player": round(steps / played), "bare": round(steps / alone), "ratio": round(alone / played, 2)}
        told.setdefault(game, {})[name] = speed
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/atari/behaviour/returns.jsonl"))
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--max-steps", type=int, default=3000)
    parser.add_argument("--games", nargs="+", choices=[game.name for game in GAMES])
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.out.open()] if options.out.exists() else []
    done = {(line["game"], line["player"], line["seed"]) for line in lines}
    for seed in range(options.episodes):
        for name in PLAYERS:
            for game in (game for game in GAMES if not options.games or game.name in options.games):
                if (game.name, name, seed) not in done:
                    lines.append(measure(game, name, seed, options.max_steps))
                    with options.out.open("a") as file:
                        file.write(json.dumps(lines[-1]) + "\n")
    options.out.with_suffix(".speed.json").write_text(json.dumps(speeds(lines), indent=2) + "\n")


if __name__ == "__main__":
    main()
