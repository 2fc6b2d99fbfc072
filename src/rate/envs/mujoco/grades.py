"""Behaviour policies of D4RL's grades: linear maps of the normalised state, found by random search.
A file per environment holds them with the returns that they reach (benchmarks/mujoco/behaviour makes it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.demonstrate import distracted
from rate.envs.mujoco.wrap import cut
from rate.envs.spec import Player
from rate.errors import ConfigError
from rate.types import Tree

Matrix = NDArray[np.float64]

GRADES = ("random", "medium-replay", "medium", "medium-expert", "expert")


@dataclass(frozen=True, kw_only=True)
class Linear:
    """action = matrix ((state - mean) / std), cut to the bounds."""

    matrix: Matrix
    mean: Matrix
    std: Matrix
    noise: float = 0.0
    """Standard deviation of what is added to each action."""

    def player(self, env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
        """Plays one episode by the whole state, whatever of it the environment shows."""
        gain = self.matrix / np.maximum(self.std, 1e-6)
        bias = -gain @ self.mean
        space = env.action_space
        assert isinstance(space, gym.spaces.Box)
        low, high, noise = space.low, space.high, self.noise

        def act(observation: Tree, previous: Any) -> NDArray[np.float32]:
            wanted = gain @ env.get_wrapper_attr("state") + bias
            if noise:
                wanted += noise * rng.standard_normal(len(wanted))
            action: NDArray[np.float32] = cut(wanted, low, high).astype(np.float32)
            return action

        return act

    def perturbed(self, rng: np.random.Generator, size: float) -> Linear:
        """The policy that a rollout of the search tried."""
        matrix = self.matrix + size * rng.standard_normal(self.matrix.shape)
        return Linear(matrix=matrix, mean=self.mean, std=self.std)


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The behaviour policies of one environment."""

    medium: Linear
    expert: Linear
    series: tuple[Linear, ...]
    """Policies along the search up to `medium`, evenly spaced in its iterations."""
    perturbation: float
    """How far the search looked around each of them."""
    returns: Mapping[str, float]
    """Grade to its measured mean return."""

    def player(self, env: gym.Env[Any, Any], rng: np.random.Generator, grade: str) -> Player:
        """One episode at a grade; the mixed grades draw the policy of the episode."""
        if grade == "random":
            return distracted(lambda observation, previous: None, env.action_space, rng, epsilon=1.0)
        if grade == "medium-replay":
            visited = self.series[int(rng.integers(len(self.series)))]
            return visited.perturbed(rng, self.perturbation).player(env, rng)
        good = grade == "expert" or (grade == "medium-expert" and rng.random() < 0.5)
        return (self.expert if good else self.medium).player(env, rng)


@lru_cache
def behaviour(name: str) -> Behaviour:
    """The policies that ship for an environment."""
    saved = json.loads((files("rate.envs.mujoco") / "policies" / f"{name}.json").read_text("utf-8"))
    return Behaviour(
        medium=_linear(saved["medium"]),
        expert=_linear(saved["expert"]),
        series=tuple(map(_linear, saved["series"])),
        perturbation=float(saved["search"]["noise"]),
        returns={grade: float(found["mean"]) for grade, found in saved["returns"].items()},
    )


def _linear(saved: Mapping[str, Any]) -> Linear:
    arrays = {key: np.array(saved[key], np.float64) for key in ("matrix", "mean", "std")}
    return Linear(**arrays, noise=float(saved.get("noise", 0.0)))


def check_grade(grade: str) -> None:
    """Refuse a grade that is not there."""
    if grade not in GRADES:
        raise ConfigError(f"mujoco expert: grade must be one of {', '.join(GRADES)}, got {grade!r}")
