"""Two grades of data: `expert`, and `paper-like`, whose mean return is that of the paper's data.
The second mixes a good policy with a bad one, in shares that differ by episode, so that returns spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from rate.envs.demonstrate import distracted
from rate.envs.spec import Player
from rate.errors import ConfigError
from rate.types import Tree

GRADES = ("expert", "paper-like")
Factory: TypeAlias = Callable[[gym.Env[Any, Any], np.random.Generator], Player]

GAMMAS: Mapping[str, tuple[float, float, float]] = {
    "Autoencode": (0.19, 0.049, 0.0135),
    "Battleship": (0.06, 0.0072, 0.0),
    "Concentration": (0.0594, 1.79, 7.42),
    "CountRecall": (1.47, 0.243, 0.272),
    "HigherLower": (25.5, 18.8, 25.8),
    "LabyrinthEscape": (9.96, 0.0335, 0.00926),
    "LabyrinthExplore": (40.2, 8.58, 9.22),
    "MineSweeper": (2.0, 1.2, 0.85),
    "MultiarmedBandit": (7.71, 2.71, 1.07),
    "NoisyPositionOnlyCartPole": (32.2, 10.0, 13.0),
    "NoisyPositionOnlyPendulum": (inf, 30.0, 100.0),
    "PositionOnlyCartPole": (inf, inf, inf),
    "PositionOnlyPendulum": (inf, inf, inf),
    "RepeatFirst": (inf, inf, 149.0),
    "RepeatPrevious": (inf, 0.079, 0.0135),
    "VelocityOnlyCartPole": (inf, inf, 100.0),
}
"""Family to the exponents of Easy, Medium and Hard. An episode errs at a share u ** gamma of its steps, u ~ U[0, 1):
0 errs always, infinity never. Where steps pay for themselves alone, a mean share of 1 / (1 + gamma) gives the exponent.
The others started from benchmarks/popgym/calibrate.py, and some were then changed by hand; what the data earns is in
benchmarks/popgym/experts. Infinity stands where expert and paper differ by less than 0.03."""
WORSE_THAN_RANDOM = frozenset({"Concentration-Medium", "Concentration-Hard"})
"""Tasks in which the paper's data earns less than random actions do.
There the good policy is the random one, and an error is the action before once more, which the game punishes."""


def check_grade(grade: str, epsilon: float | None = None) -> None:
    """Refuse a grade that is not there, and a share of random actions that is none or that the grade has already."""
    if grade not in GRADES:
        raise ConfigError(f"popgym expert: grade must be 'expert' or 'paper-like', got {grade!r}")
    if epsilon is None:
        return
    if not isinstance(epsilon, (int, float)) or not 0 <= epsilon <= 1:
        raise ConfigError(f"popgym expert: epsilon must lie between 0 and 1, or be None, got {epsilon!r}")
    if grade != "expert":
        raise ConfigError(f"popgym expert: the grade {grade!r} draws a share of errors by itself; leave epsilon None")


def paper_like(expert: Factory, family: str, level: int) -> Factory:
    """The maker of players whose mean return is that of the paper's data."""
    gamma, worse = GAMMAS[family][level], f"{family}-{('Easy', 'Medium', 'Hard')[level]}" in WORSE_THAN_RANDOM
    return err(random_player if worse else expert, lambda rng: float(rng.random() ** gamma), repeat=worse)


def err(good: Factory, share: Callable[[np.random.Generator], float], repeat: bool = False) -> Factory:
    """A player that errs at a share of the steps, drawn per episode: a random action, or the action before again."""

    def player(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
        epsilon = share(rng)
        play = good(env, rng)
        return _repeating(play, rng, epsilon) if repeat else distracted(play, env.action_space, rng, epsilon)

    return player


def random_player(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Random actions."""
    return distracted(lambda observation, previous: None, env.action_space, rng, epsilon=1.0)


def _repeating(player: Player, rng: np.random.Generator, epsilon: float) -> Player:
    """The player, except that the action before is played again with probability epsilon."""

    def act(observation: Tree, previous: Any) -> Any:
        wanted = player(observation, previous)
        return previous if previous is not None and rng.random() < epsilon else wanted

    return act
