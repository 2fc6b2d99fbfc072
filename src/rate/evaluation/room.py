"""How much room a memory has: whether its rows differ, and in how many ways episodes differ in it.

All numbers are effective counts: exp of the entropy of shares. n equal shares count n, one share of all counts 1, and
where there is nothing to share, none counts.
"""

from __future__ import annotations

import torch
from torch import Tensor


def effective(weights: Tensor) -> Tensor:
    """(..., n) weights that are not negative -> (...), how many of them count."""
    total = weights.sum(-1)
    shares = weights / total.unsqueeze(-1).clamp(min=1e-30)
    count: Tensor = torch.special.entr(shares).sum(-1).exp() * (total > 0)
    return count


def rank(memory: Tensor) -> Tensor:
    """(B, M, D) -> (B,): rows that are unlike each other; 1 where all point the same way."""
    return effective(torch.linalg.svdvals(memory).square())


def holding(memory: Tensor) -> Tensor:
    """(B, M, D) -> (): rows that hold what differs between episodes."""
    return effective(_differences(memory).square().sum((0, 2)))


def room(memory: Tensor) -> Tensor:
    """(B, M, D) -> (): independent directions in which episodes differ, at most B - 1."""
    return effective(torch.linalg.svdvals(_differences(memory).flatten(1)).square())


def _differences(memory: Tensor) -> Tensor:
    """From the mean over episodes; exactly none where all are alike, whose mean may be off by a rounding."""
    return (memory - memory.mean(0)) * (memory != memory[:1]).any(0)
