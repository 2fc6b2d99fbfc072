"""How much room a memory has: whether its rows differ, and in how many ways episodes differ in it.

All numbers are effective counts: exp of the entropy of shares. n equal shares count n, one share of all counts 1.
"""

from __future__ import annotations

import torch
from torch import Tensor


def effective(weights: Tensor) -> Tensor:
    """(..., n) weights that are not negative -> (...), how many of them count."""
    shares = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
    count: Tensor = torch.special.entr(shares).sum(-1).exp()
    return count


def rank(memory: Tensor) -> Tensor:
    """(B, M, D) -> (B,): rows that are unlike each other; 1 where all point the same way."""
    return effective(torch.linalg.svdvals(memory).square())


def holding(memory: Tensor) -> Tensor:
    """(B, M, D) -> (): rows that hold what differs between episodes."""
    return effective((memory - memory.mean(0)).square().sum((0, 2)))


def room(memory: Tensor) -> Tensor:
    """(B, M, D) -> (): independent directions in which episodes differ, at most B - 1."""
    differs = (memory - memory.mean(0)).flatten(1)
    return effective(torch.linalg.svdvals(differs).square())
