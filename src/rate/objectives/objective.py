"""What an objective returns, and the registry of objectives.

An objective is a module: what it must keep (target networks) is its own state and goes into the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from rate.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A scalar to minimise, and what is worth logging beside it."""

    total: Tensor
    parts: Mapping[str, Tensor]
    weight: int
    """Real steps behind the means, to average batches with."""


OBJECTIVES: Registry[Callable[..., nn.Module]] = Registry("objective")
"""Name to a class built as Objective(bptt_segments, recompute) and called as objective(policy, window) -> Loss."""
