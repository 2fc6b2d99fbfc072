"""Hold an export to the policy that it is of: the runner and `step` are given the same, and must say the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from rate.export.program import Asked, kind_of
from rate.export.runner import Policy
from rate.models.acting import PROMPTS
from rate.models.policy import SequencePolicy
from rate.spaces import map_space
from rate.types import Inputs, Tree, to_tensor


def largest_difference(policy: SequencePolicy[Any], folder: Path, asked: Asked, steps: int, batch: int) -> float:
    """Of the predictions over the first steps of random episodes, against the size of the largest (at least 1)."""
    runner, worst = Policy(folder), 0.0
    oracle = next(samples(policy.spaces.oracle, batch)) if policy.takes_oracle else None
    runner.reset(oracle)
    shown, rewards = Shown(policy, asked, batch), np.random.default_rng(0).standard_normal((steps, batch), np.float32)
    observations, state, action = samples(policy.spaces.observation, batch), policy.initial_state(batch), None
    for time, reward in enumerate(rewards):
        observation = next(observations)
        x = Inputs(
            observation=to_tensor(observation),
            previous_action=action,
            return_to_go=shown(torch.as_tensor(reward), time),
            timestep=time,
            oracle=to_tensor(oracle),
        )
        with torch.inference_mode():
            output, state = policy.step(x, state)
        runner.act(observation, reward)
        theirs = torch.as_tensor(runner.prediction)
        worst = max(worst, float((output.prediction - theirs).abs().max() / theirs.abs().max().clamp(min=1)))
        action = policy.head.act(theirs, False)  # a tie must not part the two
    return worst


class Shown:
    """The return-to-go that a policy is shown while it acts."""

    def __init__(self, policy: SequencePolicy[Any], asked: Asked, batch: int) -> None:
        self.prompt, self.asked = PROMPTS.get(asked.prompt)(policy), asked
        self.target = asked.target_return / asked.return_scale
        self.left = torch.full((batch,), self.target)

    def __call__(self, reward: Tensor, time: int) -> Tensor:
        left = self.left - reward / self.asked.return_scale if time else self.left
        self.left = self.prompt(left, self.target, time)
        return self.left


def samples(space: gym.Space[Any] | None, batch: int) -> Iterator[Tree]:
    """Batches of random values, always the same ones."""
    own = copy.deepcopy(space)
    assert own is not None
    own.seed(0)
    while True:
        drawn = [own.sample() for _ in range(batch)]
        yield map_space(lambda leaf, *values: np.stack(values).astype(kind_of(leaf)), own, *drawn)
