"""Measure the scripted player of Two-Colors and players without memory, and the speed of steps.

    python benchmarks/vizdoom-two-colors/measure.py returns --out benchmarks/vizdoom-two-colors/returns.jsonl
    python benchmarks/vizdoom-two-colors/measure.py table --out benchmarks/vizdoom-two-colors/returns.jsonl
    python benchmarks/vizdoom-two-colors/measure.py repeats --out benchmarks/vizdoom-two-colors/repeats.json
    python benchmarks/vizdoom-two-colors/measure.py speed --out benchmarks/vizdoom-two-colors/speed.json

`returns` writes one line per episode; what is there already is not played again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rate.envs import ENVS
from rate.envs.demonstrate import distracted, episode
from rate.envs.vizdoom.engine import borrow
from rate.envs.vizdoom.env import TwoColorsEnv
from rate.envs.vizdoom.tasks import make_batch, player

PLAYERS: dict[str, Callable[..., Any]] = {
    "expert": partial(player, noise=0.0),
    "expert, noise 0.4": partial(player, noise=0.4),
    "always red": partial(player, noise=0.0, chases="red"),
    "colour-blind": partial(player, noise=0.0, chases="any"),
    "random": lambda env, rng, **_: distracted(lambda *seen: 0, env.action_space, rng, 1.0),
    "turning on the spot": lambda env, rng, **_: lambda *seen: 0,
}
EPISODES = {90: 100, 150: 100, 2100: 20}
"""Steps of an episode to episodes; half of them are green."""


def returns(out: Path) -> None:
    done = set()
    if out.exists():
        done = {(line["player"], line["max_steps"], line["seed"]) for line in map(json.loads, out.open())}
    for max_steps, count in EPISODES.items():
        for name, play in PLAYERS.items():
            env = TwoColorsEnv(max_steps=max_steps)
            for seed in range(count):
                if (name, max_steps, seed) not in done:
                    item = episode(env, play, seed)
                    line = {"player": name, "max_steps": max_steps, "seed": seed, "colour": env.colour}
                    line |= {"return": round(float(np.sum(item.rewards)), 4), "steps": len(item)}
                    with out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
            env.close()


def table(out: Path) -> None:
    found: dict[Any, list[Any]] = defaultdict(list)
    for line in map(json.loads, out.open()):
        found[line["max_steps"], line["player"]].append((line["colour"], line["return"], line["steps"]))
    print("| steps | player | return | red | green | imbalance | length |\n|---|---|---|---|---|---|---|")
    for (max_steps, name), rows in found.items():
        colours, values, lengths = (np.array(column) for column in zip(*rows, strict=True))
        red, green = (values[colours == colour].mean() for colour in ("red", "green"))
        error = values.std(ddof=1) / len(values) ** 0.5
        shown = f"{values.mean():.2f} ± {error:.2f} | {red:.2f} | {green:.2f} | {abs(red - green):.2f}"
        print(f"| {max_steps:,} | {name} | {shown} | {lengths.mean():,.0f} |")


def repeats(out: Path) -> None:
    """How often the data repeats the action before, by noise and by how long an error is held; 80 episodes each."""
    figures, env = {}, TwoColorsEnv(max_steps=90)
    for noise, hold in ((0.0, 1), (0.2, 6), (0.2, 1), (0.4, 1)):
        actions = np.stack([episode(env, partial(player, noise=noise, hold=hold), seed).actions for seed in range(80)])
        figures[f"noise={noise},hold={hold}"] = round(float((actions[:, 1:] == actions[:, :-1]).mean()), 3)
    env.close()
    out.write_text(json.dumps(figures, indent=2) + "\n")


def speed(out: Path) -> None:
    """Steps per second: the engine alone, the environment, a batch, and the expert, in one run."""
    engine = borrow()
    engine.begin("MAP01", 0)
    figures = {"engine alone": rate_of(lambda: engine.act(0), 3000)}
    figures["engine and its screen"] = rate_of(lambda: (engine.act(0), engine.state.screen_buffer), 3000)
    engine.close()
    for height in (32, 64):
        env = TwoColorsEnv(height=height)
        env.reset(seed=0)
        figures[f"environment, height {height}"] = rate_of(lambda env=env: step(env, 0), 3000)
        env.close()
    batch = make_batch()
    batch.reset(np.arange(10))
    figures["batch of 10"] = 10 * rate_of(lambda: batch.step(np.zeros(10, np.int64)), 304)
    batch.close()
    env = TwoColorsEnv(max_steps=90)
    figures["expert"] = 90 * rate_of(lambda: episode(env, PLAYERS["expert"], 0), 24)
    env.close()
    out.write_text(json.dumps({name: round(value) for name, value in figures.items()}, indent=2) + "\n")
    print(out.read_text())


def step(env: TwoColorsEnv, action: int) -> None:
    _, _, terminated, truncated, _ = env.step(np.int64(action))
    if terminated or truncated:
        env.reset(seed=0)


def rate_of(call: Callable[[], Any], times: int, rounds: int = 8) -> float:
    """The best of some rounds: what else runs on the machine can only slow a round down."""
    best = 0.0
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(times // rounds):
            call()
        best = max(best, times // rounds / (time.perf_counter() - began))
    return best


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("returns", "table", "repeats", "speed"))
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    assert "vizdoom-two-colors" in ENVS.names()
    {"returns": returns, "table": table, "repeats": repeats, "speed": speed}[chosen.what](chosen.out)
