"""Held-out action error: how well a policy predicts actions that it was not trained on, without an environment.

Windows are those of validation: the policy sees what it saw in training, and the actions before each step are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor

from rate.data.windows import Windows
from rate.evaluation.rollout import acting
from rate.models.policy import SequencePolicy, unroll
from rate.types import Segment, to_tensor


@dataclass(frozen=True, kw_only=True)
class ActionError:
    """Means over the steps of an episode, or of all."""

    steps: int
    loss: float
    """Of the action head: cross-entropy of discrete actions, squared error of continuous ones."""
    accuracy: float | None
    """Share of steps whose most likely action is that of the data; None where actions are continuous."""
    absolute_error: float | None
    """Mean absolute error; None where actions are discrete."""


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """The error of all held-out steps, and of each episode."""

    total: ActionError
    episodes: dict[int, ActionError]
    """Number of the episode in the data -> its error."""


@torch.no_grad()
def action_error(policy: SequencePolicy[Any], windows: Windows, batch_size: int) -> HeldOut:
    """Measure every window once; the state of the policy (training or not) is left as it was."""
    sums = torch.zeros(len(windows), 4, dtype=torch.float64)
    episode = -1
    with acting(policy, seed=0):
        for window in windows.fixed(batch_size):
            # Windows of one episode follow each other, the first of them at step 0.
            rows = episode + (window.timestep[:, 0] == 0).long().cumsum(0)
            episode = int(rows[-1])
            sums.index_add_(0, rows, _sums(policy, to_tensor(window, policy.device)).double().cpu())
    continuous = isinstance(policy.spaces.action, gym.spaces.Box)
    each = {int(id): _means(row, continuous) for id, row in zip(windows.ids, sums, strict=True)}
    return HeldOut(total=_means(sums.sum(0), continuous), episodes=each)


def _sums(policy: SequencePolicy[Any], window: Segment) -> Tensor:
    """(B, 4): steps, and the sums over them of loss, score of the head and absolute error."""
    prediction, head = unroll(policy, window).prediction, policy.head
    wrong = (head.act(prediction, sample=False) - window.action).abs().float()
    per_step = [
        torch.ones_like(window.return_to_go),
        head.loss(prediction, window.action),
        head.score(prediction, window.action),
        wrong.flatten(2).mean(-1) if wrong.dim() > 2 else wrong,
    ]
    return (torch.stack(per_step, -1) * window.mask[..., None]).sum(1)


def _means(row: Tensor, continuous: bool) -> ActionError:
    steps, loss, accuracy, wrong = row.tolist()
    return ActionError(
        steps=int(steps),
        loss=loss / steps,
        accuracy=None if continuous else accuracy / steps,
        absolute_error=wrong / steps if continuous else None,
    )
