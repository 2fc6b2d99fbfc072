"""Make the package's behaviour policies of one environment from the series of a search, and measure every grade.

    python benchmarks/mujoco/behaviour/grades.py hopper --search runs/mujoco/search/hopper-seed0

The expert is the policy of the search with the best mean over fresh episodes, the medium an earlier one near 40 % of
its return (random actions counted as 0), both with their action noise. `medium-replay` keeps policies up to the
medium, evenly spaced in the iterations of the search, and plays a perturbed one in every episode, as the search did.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from search import SETTINGS

from rate.envs.demonstrate import episode
from rate.envs.mujoco.grades import GRADES, Behaviour, Linear
from rate.envs.mujoco.wrap import make

MEDIUM = 0.4
CANDIDATES, TRIALS = 6, 10
SERIES = 16
POLICY = ("matrix", "mean", "std")


def returns(env: gym.Env, player: Any, count: int, first: int) -> np.ndarray:
    played = (episode(env, player, seed) for seed in range(first, first + count))
    return np.array([float(item.rewards.sum()) for item in played])


def linear(line: dict[str, Any], noise: float = 0.0) -> Linear:
    return Linear(**{key: np.round(line[key], 5) for key in POLICY}, noise=noise)


def trial(env: gym.Env, line: dict[str, Any], noise: float, first: int) -> float:
    mean = float(returns(env, linear(line, noise).player, TRIALS, first).mean())
    print(f"iteration {line['iteration']}: {mean:.0f} with noise {noise}", flush=True)
    return mean


def best(env: gym.Env, lines: list[dict[str, Any]], noise: float) -> tuple[dict[str, Any], float]:
    """The line with the highest mean of fresh episodes among those that did well when the search tested them."""
    tested = sorted((line for line in lines if "test" in line), key=lambda line: -line["test"])[:CANDIDATES]
    means = [trial(env, line, noise, 20_000) for line in tested]
    at = int(np.argmax(means))
    return tested[at], means[at]


def middle(env: gym.Env, lines: list[dict[str, Any]], wanted: float, noise: float) -> dict[str, Any]:
    """The line whose return with noise is nearest to the wanted one, among those whose rollouts were near it."""
    near = sorted(lines, key=lambda line: abs(line["rollouts_mean"] - wanted))[: 2 * CANDIDATES]
    means = [trial(env, line, noise, 30_000) for line in near]
    return near[int(np.argmin(np.abs(np.array(means) - wanted)))]


def saved(policy: Linear) -> dict[str, Any]:
    arrays = {key: getattr(policy, key).tolist() for key in POLICY}
    return arrays | ({"noise": policy.noise} if policy.noise else {})


def measured(env: gym.Env, behaviour: Behaviour, episodes: int) -> dict[str, Any]:
    """Mean, spread and length of every grade over fresh episodes."""
    found = {}
    for grade in GRADES:
        items = [episode(env, partial(behaviour.player, grade=grade), 40_000 + index) for index in range(episodes)]
        totals = np.array([float(item.rewards.sum()) for item in items])
        found[grade] = {
            "mean": round(float(totals.mean()), 1),
            "std": round(float(totals.std()), 1),
            "best": round(float(totals.max()), 1),
            "steps": round(float(np.mean([len(item) for item in items])), 1),
        }
        print(grade, found[grade], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env", choices=SETTINGS)
    parser.add_argument("--search", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("src/rate/envs/mujoco/policies"))
    parser.add_argument("--expert-noise", type=float, default=0.05)
    parser.add_argument("--medium-noise", type=float, default=0.1)
    parser.add_argument("--episodes", type=int, default=100, help="episodes by which each grade is measured")
    options = parser.parse_args()

    settings = SETTINGS[options.env]
    env = make(settings.env_id)
    lines = [json.loads(line) for line in (options.search / "series.jsonl").read_text().splitlines()]
    top, reached = best(env, lines, options.expert_noise)
    random = lines[0]["rollouts_mean"]
    before = [line for line in lines if line["iteration"] < top["iteration"]]
    mid = middle(env, before, random + MEDIUM * (reached - random), options.medium_noise)
    chosen = np.linspace(0, mid["iteration"], SERIES).round().astype(int)
    behaviour = Behaviour(
        medium=linear(mid, options.medium_noise),
        expert=linear(top, options.expert_noise),
        series=tuple(linear(lines[at]) for at in chosen),
        perturbation=settings.noise,
        returns={},
    )
    result = {
        "search": {**asdict(settings), "iterations": {"medium": mid["iteration"], "expert": top["iteration"]}}
        | {"steps": {"medium": mid["steps"], "expert": top["steps"], "whole": lines[-1]["steps"]}},
        "episodes": options.episodes,
        "returns": measured(env, behaviour, options.episodes),
        "medium": saved(behaviour.medium),
        "expert": saved(behaviour.expert),
        "series": [
            {"iteration": int(at), **saved(policy)} for at, policy in zip(chosen, behaviour.series, strict=True)
        ],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{options.env}.json").write_text(json.dumps(result, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
