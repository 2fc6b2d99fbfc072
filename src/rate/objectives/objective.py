"""Objective: what a policy is trained to do, and what it returns.

An objective is a module: what it must keep (target networks, critics) is its own state and goes into the checkpoint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from rate.models.policy import SequencePolicy
from rate.types import Output, Segment

Unroll = Callable[[SequencePolicy[Any], Segment], Output]
"""Runs a policy over a window: `unroll` with the truncation that training asks for."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A scalar to minimise, and what is worth logging beside it."""

    total: Tensor
    parts: Mapping[str, Tensor]
    weight: int | Tensor
    """Real steps behind the means, to average batches with; as a tensor it is fetched only where it is needed."""


class Objective(nn.Module, ABC):
    """Policy and window in, loss out. Its parameters are trained beside those of the policy."""

    lookahead: int = 0
    """Steps that it is given beyond the window, to look at and not to learn from."""

    @abstractmethod
    def forward(self, policy: SequencePolicy[Any], window: Segment) -> Loss: ...

    def after_step(self, policy: SequencePolicy[Any]) -> None:
        """Called after each optimiser step, for what follows the policy without a gradient."""


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real steps; zero, and not NaN, where there is none."""
    return (values * mask).sum() / mask.sum().clamp(min=1)
