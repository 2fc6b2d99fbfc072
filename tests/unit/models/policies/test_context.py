"""The sliding window counts its tokens, starts empty, and is never wiped."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
import torch

from rate.models import MODELS
from rate.models.policies.context import ContextPolicy, ContextState
from rate.types import Inputs, Spaces

SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (4,)), action=gym.spaces.Discrete(3))
SIZES: dict[str, dict[str, Any]] = {
    "dt": {"layers": 2, "width": 16, "heads": 2, "head_width": 4},
    "lsdt": {"layers": 2, "width": 16, "heads": 2, "conv_width": 8},
}

each_model = pytest.mark.parametrize("name", SIZES)


def build(name: str, context: int, **fields: Any) -> ContextPolicy:
    torch.manual_seed(0)
    policy = MODELS.get(name)(context, **{**SIZES[name], **fields}).build(SPACES).eval()
    assert isinstance(policy, ContextPolicy)
    return policy


def step(policy: ContextPolicy, t: int, state: ContextState) -> tuple[torch.Tensor, ContextState]:
    """Any observation at step t of two episodes."""
    action = torch.zeros(2, dtype=torch.long) if t else None
    x = Inputs(observation=torch.randn(2, 4), previous_action=action, return_to_go=torch.randn(2), timestep=t)
    output, state = policy.step(x, state)
    return output.prediction, state


@each_model
@pytest.mark.parametrize("context", [1, 2, 5])
def test_the_window_fills_and_stays_full(name: str, context: int) -> None:
    policy = build(name, context)
    assert (policy.context, policy.segment_len) == (context, None)
    state = policy.initial_state(2)
    assert state.filled == 0
    for t in range(3 * context + 2):
        _, state = step(policy, t, state)
        assert state.tokens.shape == (2, 3 * context - 1, 16)
        assert state.filled == 3 * min(t + 1, context) - 1


@each_model
def test_the_window_slides_by_one_step(name: str) -> None:
    """It is never cut to its last step: all but the oldest step stay, in their order."""
    policy = build(name, 4)
    state = policy.initial_state(2)
    for t in range(13):
        before = state.tokens
        _, state = step(policy, t, state)
        if t:
            assert torch.equal(state.tokens[:, :-3], before[:, 3:])
            assert not torch.equal(state.tokens[:, -3:], before[:, -3:])


@each_model
@pytest.mark.parametrize("layers", [1, 3])
def test_the_last_token_alone_is_the_last_of_all(name: str, layers: int) -> None:
    policy = build(name, 6, layers=layers)
    for length in (1, 2, 7, 17):
        tokens = torch.randn(3, length, 16)
        with torch.no_grad():
            all_of_them = policy.backbone(tokens, torch.arange(length))
            torch.testing.assert_close(policy.backbone.last(tokens), all_of_them[:, -1], atol=1e-6, rtol=1e-6)


@each_model
def test_episodes_may_be_longer_than_the_table_of_timesteps(name: str) -> None:
    policy = build(name, 3, timesteps=5)
    state = policy.initial_state(2)
    for t in range(12):
        prediction, state = step(policy, t, state)
        assert prediction.isfinite().all()
    x = Inputs(observation=torch.ones(2, 4), previous_action=None, return_to_go=torch.ones(2), timestep=3)
    early, last, later = (policy.tokens.prompt(Inputs(**{**vars(x), "timestep": t}))[1] for t in (3, 4, 400))
    assert not torch.equal(early, last)
    assert torch.equal(last, later)
