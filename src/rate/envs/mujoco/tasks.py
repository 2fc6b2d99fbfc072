"""The three walkers of the paper's MuJoCo table, registered without importing MuJoCo.
Rules, limits and rewards are those of Gymnasium's v5 environments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.batch import SerialBatch
from rate.envs.demonstrate import demonstrate
from rate.envs.mujoco.grades import behaviour, check_grade
from rate.envs.mujoco.wrap import MAX_STEPS, View, make
from rate.envs.spec import ENVS, CollectRequest, EnvSpec, EvalCase, Player
from rate.registry import check_names
from rate.score import Score
from rate.types import Trajectory

WALKERS = {
    "halfcheetah": ("HalfCheetah-v5", "run forward on two legs that cannot fall"),
    "hopper": ("Hopper-v5", "hop forward on one leg without falling"),
    "walker2d": ("Walker2d-v5", "walk forward on two legs without falling"),
}
"""Name to Gymnasium's id and the task."""
REFERENCES = {"halfcheetah": (-278.1, 4424.1), "hopper": (16.3, 3003.6), "walker2d": (1.0, 1139.4)}
"""Mean returns of random actions and of the expert here, which count 0 and 100 in a normalised score."""
NAMES = tuple(f"mujoco/{name}" for name in WALKERS)

EXPERT_DEFAULTS: Mapping[str, Any] = {"grade": "expert", **asdict(View()), "max_steps": MAX_STEPS}


def player(name: str, env: gym.Env[Any, Any], rng: np.random.Generator, grade: str = "expert", **shown: Any) -> Player:
    """The behaviour policy of a grade for one episode. It sees the whole state, whatever the environment shows."""
    check_grade(grade)
    return behaviour(name).player(env, rng, grade)


def expert(name: str, request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of a behaviour policy. Options: `grade`, and those of the environment."""
    options = {**EXPERT_DEFAULTS, **request.kwargs}
    check_names(options, EXPERT_DEFAULTS, f"option of the expert of mujoco/{name}:")
    grade = options.pop("grade")
    check_grade(grade)
    return demonstrate(make(WALKERS[name][0], **options), partial(player, name, grade=grade), request.seeds.tolist())


def case(
    name: str, observe: str = "all", noise: float = 0.0, drop: float = 0.0, max_steps: int = MAX_STEPS
) -> EvalCase:
    """The walker under a view; the return to ask for is the expert's, or the share of it that the steps allow."""
    kwargs = {**asdict(View(observe=observe, noise=noise, drop=drop)), "max_steps": max_steps}
    changed = [f"{key}={value}" for key, value in kwargs.items() if value != EXPERT_DEFAULTS[key]]
    return EvalCase(
        name=",".join(changed) or "default",
        kwargs=kwargs,
        target_return=round(REFERENCES[name][1] * min(1.0, max_steps / MAX_STEPS)),
        max_steps=max_steps,
        tags={"walker": name, "observe": observe},
    )


def make_batch(env_id: str, **kwargs: Any) -> SerialBatch:
    """Many episodes of a walker."""
    return SerialBatch(partial(make, env_id, **kwargs))


def register(name: str, env_id: str, rules: str) -> None:
    """Add one walker to the environments of the library."""
    spec = EnvSpec(
        name=f"mujoco/{name}",
        summary=f"MuJoCo {env_id}: {rules}",
        make=partial(make, env_id),
        make_batch=partial(make_batch, env_id),
        expert=partial(expert, name),
        expert_defaults=EXPERT_DEFAULTS,
        player=partial(player, name),
        case=partial(case, name),
        score=Score.normalised(*REFERENCES[name]),
    )
    ENVS.add(spec.name, spec)


for _name, (_env_id, _rules) in WALKERS.items():
    register(_name, _env_id, _rules)
