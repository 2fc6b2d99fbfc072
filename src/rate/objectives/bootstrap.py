"""What objectives that bootstrap share: target networks, and the observation that follows the last step.

They look one step ahead, so a window has T + 1 steps; the last is looked at, and T are learnt from.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from rate.types import Segment, tree_map

M = TypeVar("M", bound=nn.Module)


class Target(nn.Module, Generic[M]):
    """A copy that is never trained, has no dropout, and follows its source slowly."""

    network: M

    def __init__(self, source: M) -> None:
        super().__init__()
        self.network = copy.deepcopy(source).requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Target[M]:
        return super().train(False)

    @torch.no_grad()
    def follow(self, source: M, tau: float) -> None:
        """Polyak averaging: a share `tau` of the way to the source."""
        for own, other in zip(self.network.parameters(), source.parameters(), strict=True):
            own.lerp_(other, tau)


def with_next(window: Segment) -> Segment:
    """The window with the step after each last one marked as real: it was observed, though nothing was done there."""
    observed = window.mask.clone()
    observed[:, 1:] |= window.mask[:, :-1]
    return replace(window, mask=observed)


def without_next(window: Segment) -> Segment:
    """The T steps to learn from."""
    steps: Segment = tree_map(lambda leaf: leaf[:, :-1], window)
    return steps


def bootstrapped(steps: Segment, following: Tensor, discount: float) -> Tensor:
    """(B, T): the reward and the value of what follows (B, T). A time limit cuts nothing off, a termination does."""
    return steps.reward + discount * torch.where(steps.terminated, 0.0, following)


def half_squared(values: Tensor, goal: Tensor) -> Tensor:
    """(B, T, 2) against (B, T) -> (B, T): the error of both Q functions."""
    return 0.5 * (values - goal[..., None]).square().mean(-1)
