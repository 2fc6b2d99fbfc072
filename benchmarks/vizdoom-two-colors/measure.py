"""Measure the scripted player of Two-Colors and players without memory, and the speed of steps.

    python benchmarks/vizdoom-two-colors/measure.py returns --out benchmarks/vizdoom-two-colors/returns.jsonl
    python benchmarks/vizdoom-two-colors/measure.py table --out benchmarks/vizdoom-two-colors/returns.jsonl
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
    figures["batch of 10"] = 10 * rate_of(lambda: batch.step(np.zeros(10, np.int64)), 300)
    batch.close()
    env, began = TwoColorsEnv(max_steps=90), time.perf_counter()
    items = [episode(env, PLAYERS["expert"], seed) for seed in range(20)]
    figures["expert"] = sum(map(len, items)) / (time.perf_counter() - began)
    env.close()
    out.write_text(json.dumps({name: round(value) for name, value in figures.items()}, indent=2) + "\n")
    print(out.read_text())


def step(env: TwoColorsEnv, action: int) -> None:
    _, _, terminated, truncated, _ = env.step(np.int64(action))
    if terminated or truncated:
        env.reset(seed=0)


def rate_of(call: Callable[[], Any], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        call()
    return times / (time.perf_counter() - began)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("returns", "table", "speed"))
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    assert "vizdoom-two-colors" in ENVS.names()
    {"returns": returns, "table": table, "speed": speed}[chosen.what](chosen.out)
