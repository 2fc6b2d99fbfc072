"""The sliding window counts its tokens and starts empty."""

from __future__ import annotations

import gymnasium as gym
import pytest
import torch

from rate.models import MODELS
from rate.models.window import WindowPolicy
from rate.types import Inputs, Spaces

SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (4,)), action=gym.spaces.Discrete(3))


@pytest.mark.parametrize("context", [1, 2, 5])
def test_the_window_fills_and_stays_full(context: int) -> None:
    policy = MODELS.get("dt")(context, layers=1, width=8, heads=2, head_width=4).build(SPACES)
    assert isinstance(policy, WindowPolicy)
    assert (policy.context, policy.segment_len) == (context, None)
    state = policy.initial_state(2)
    assert state.filled == 0
    action = None
    for t in range(3 * context + 2):
        x = Inputs(observation=torch.randn(2, 4), previous_action=action, return_to_go=torch.randn(2))
        output, state = policy.step(x, state)
        assert state.tokens.shape == (2, 3 * context - 1, 8)
        assert state.filled == 3 * min(t + 1, context) - 1
        action = policy.head.act(output.prediction, sample=False)
