"""`unroll`: what is drawn in training (borders of gradients, wrong past actions), and that nothing is when judging."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from gymnasium import spaces as gs
from torch import Tensor

from rate.models import MODELS, unroll
from rate.models.policy import with_others
from rate.types import Segment, Spaces

SPACES = Spaces(observation=gs.Box(-1, 1, (2,)), action=gs.Discrete(4))
K = 2


def window() -> Segment:
    torch.manual_seed(0)
    return Segment(
        observation=torch.randn(3, 3 * K, 2, requires_grad=True),
        action=torch.randint(4, (3, 3 * K)),
        return_to_go=torch.zeros(3, 3 * K),
        reward=torch.zeros(3, 3 * K),
        terminated=torch.zeros(3, 3 * K, dtype=torch.bool),
        timestep=torch.arange(3 * K).repeat(3, 1),
        mask=torch.ones(3, 3 * K, dtype=torch.bool),
    )


def reached(seed: int) -> tuple[bool, ...]:
    """Which segments the gradient of the last one reaches."""
    policy, steps = MODELS.get("rate")(3 * K, width=16, layers=1, dropout=0.0).build(SPACES).train(), window()
    torch.manual_seed(seed)
    last: Tensor = unroll(policy, steps, bptt_segments=2).prediction[:, -1].sum()
    (gradient,) = torch.autograd.grad(last, steps.observation)
    return tuple(bool(part.any()) for part in gradient.split(K, 1))


def test_every_border_is_crossed_at_some_step() -> None:
    assert {reached(seed) for seed in range(8)} == {(False, True, True), (False, False, True)}


@pytest.mark.parametrize("shape", [(), (2,)])
def test_wrong_actions_are_actions_of_other_steps(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    action = torch.arange(400.0).view(20, 20, *[1] * len(shape)).expand(20, 20, *shape)
    mask = torch.arange(20).expand(20, 20) < 10  # what is padded is drawn by nobody
    shown = with_others(action, mask, 0.3)
    wrong = (shown != action).flatten(2).any(-1) if shape else shown != action
    assert 0.2 < wrong.float().mean() < 0.4
    assert torch.isin(shown[wrong], action[mask]).all()
    assert torch.equal(with_others(action, mask, 0.0), action)
    assert torch.equal(with_others(action, mask & False, 1.0), action)


def test_past_actions_are_wrong_in_training_only() -> None:
    policy, steps = MODELS.get("bc-lstm")(3 * K, previous_action=True, dropout=0.0).build(SPACES), window()
    first = replace(steps, action=steps.action[:, :1].expand(-1, 3 * K))
    clean = unroll(policy.eval(), first).prediction
    assert torch.equal(unroll(policy, first, action_noise=1.0).prediction, clean)
    torch.manual_seed(1)
    noisy = unroll(policy.train(), first, action_noise=1.0).prediction
    assert torch.equal(noisy[:, 0], clean[:, 0]) and not torch.equal(noisy[:, 1:], clean[:, 1:])
