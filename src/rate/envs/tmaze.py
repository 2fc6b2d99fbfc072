"""Passive T-Maze: its cases, its score, and its place in the registry.

`import rate` also makes it `gymnasium.make("rate/TMaze-v0")`.
"""

from __future__ import annotations

from dataclasses import asdict

import gymnasium as gym
import numpy as np

from rate.envs.spec import ENVS, EnvSpec, EvalCase, case_of_length
from rate.envs.tmaze_env import TMazeBatch, TMazeEnv, corridor_of
from rate.envs.tmaze_expert import OracleOptions, oracle, player
from rate.score import Score


def case(length: int = 30) -> EvalCase:
    """Episodes of one length."""
    corridor_of(length)
    return case_of_length(length)


def success(episode_return: float) -> bool:
    """The agent reached the right arm."""
    return episode_return > 0.5


ENVS.add(
    "tmaze",
    EnvSpec(
        name="tmaze",
        summary="Passive T-Maze: a clue in the first observation decides the turn at the end of a corridor",
        make=TMazeEnv,
        make_batch=TMazeBatch,
        expert=oracle,
        expert_defaults=asdict(OracleOptions()),
        player=player,
        case=case,
        score=Score.success(success),
        tags=("clue",),
        oracle={"clue": gym.spaces.Box(-1.0, 1.0, (), np.float32)},
        cue="clue",
        cue_options={"lengths": "exact"},
        axis="length",
        axis_unit="environment steps",
    ),
)
gym.register(id="rate/TMaze-v0", entry_point="rate.envs.tmaze_env:TMazeEnv")
