"""Prompts: the return-to-go of every step, for rows that began together or apart."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from rate.errors import ConfigError
from rate.models import MODELS, SequencePolicy
from rate.models.acting import PROMPTS
from rate.models.actor import Actor
from rate.models.prompts import Prompt
from rate.types import Inputs, Output, Segment, Spaces

SPACES = Spaces(observation=gym.spaces.Discrete(2), action=gym.spaces.Discrete(2))


class Listener(SequencePolicy[Tensor]):
    """Notes the returns-to-go that it is shown."""

    segment_len, context = 3, None

    def __init__(self) -> None:
        super().__init__(SPACES, width=1)
        self.shown: list[list[float]] = []

    def initial_state(self, batch: int) -> Tensor:
        return torch.zeros(batch)

    def forward(self, segment: Segment, state: Tensor) -> tuple[Output, Tensor]:
        raise AssertionError

    def step(self, x: Inputs, state: Tensor) -> tuple[Output, Tensor]:
        self.shown.append(x.return_to_go.tolist())
        return Output(prediction=torch.zeros(len(state), 2)), state


def shown(prompt: str, steps: int = 7) -> list[float]:
    policy = Listener()
    actor = Actor(policy, target_return=10.0, return_scale=2.0, prompt=prompt)
    for _ in range(steps):
        actor.act(np.array([0]))
        actor.observe(np.array([1.0]))
    return [row[0] for row in policy.shown]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("countdown", [5, 4.5, 4, 3.5, 3, 2.5, 2]),
        ("constant", [5, 5, 5, 5, 5, 5, 5]),
        ("per-segment", [5, 4.5, 4, 5, 4.5, 4, 5]),
        ("none", [0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_the_return_to_go_of_every_step(prompt: str, expected: list[float]) -> None:
    assert shown(prompt) == expected


def test_rows_that_begin_apart_have_segments_of_their_own() -> None:
    policy = Listener()
    actor = Actor(policy, target_return=9.0, prompt="per-segment")
    for step in range(6):
        actor.act(np.array([0, 0]))
        actor.observe(np.array([1.0, 1.0]))
        if step == 1:
            actor.reset([1])
    first = [row[0] for row in policy.shown[:2]] + [row[0] for row in policy.shown[2::2]]
    second = [row[1] for row in policy.shown[:2]] + [row[0] for row in policy.shown[3::2]]
    assert first == [9, 8, 7, 9, 8, 7] and second == [9, 8, 9, 8, 7, 9]


def test_who_cannot_be_prompted_so() -> None:
    with pytest.raises(ConfigError, match="needs a policy with segments"):
        Actor(MODELS.get("dt")(9).build(SPACES), target_return=1.0, prompt="per-segment")
    with pytest.raises(ConfigError, match="without return tokens"):
        Actor(MODELS.get("rate")(9).build(SPACES), target_return=1.0, prompt="none")
    Actor(MODELS.get("bc-lstm")(9).build(SPACES), target_return=0.0, prompt="none")


def test_a_prompt_of_ones_own() -> None:
    class Doubt(Prompt):
        def __call__(self, left: Tensor, target: float, timestep: int) -> Tensor:
            return left / 2

    own: Any = PROMPTS
    own.add("doubt", Doubt)
    try:
        assert shown("doubt", 3) == [2.5, 1.0, 0.25]
    finally:
        del own._values["doubt"]
