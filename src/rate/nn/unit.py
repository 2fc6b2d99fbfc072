"""Unit: values in units of the data, (x - mean) / std, and back. Choices: the same for sums of learned rows.

Their numbers are buffers of the policy: `step` and `forward` cannot differ in them, and a checkpoint carries them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from rate.types import Array

LARGEST = float(np.finfo(np.float32).max)
CLIP = 10.0
"""What lies further out is cut; one broken sensor must not fill the token."""

LEAST_VARIANCE = 0.1
"""Of a sum of rows: what hardly ever changes is not made larger than this allows."""


class Unit(nn.Module):
    """Starts with what the space says, such as bytes / 255; `fit` gives it what the data says."""

    mean: Tensor
    std: Tensor
    limit: Tensor

    def __init__(self, mean: Array, std: Array, *, fitted: bool, clip: float = LARGEST, least: float = 0.0) -> None:
        """`fitted`: it will be, so a checkpoint holds it; else it stays as it is. `clip`: where fitted values end.
        `least`: share of the usual spread that is added to each.
        """
        super().__init__()
        self.fitted, self.clip, self.least = fitted, clip, least
        start = {"mean": mean, "std": std, "limit": np.array(LARGEST)}
        for name, values in start.items():
            self.register_buffer(name, torch.as_tensor(values, dtype=torch.float32), persistent=fitted)

    @torch.no_grad()
    def fit(self, mean: Array, std: Array) -> None:
        """Take other numbers; where nothing varies, only the mean is taken off."""
        std = std + self.least * np.sqrt(np.square(std).mean())
        constant = std <= 1e-6 * np.maximum(1.0, np.abs(mean))
        self.mean.copy_(torch.as_tensor(mean))
        self.std.copy_(torch.as_tensor(np.where(constant, 1.0, std)))
        self.limit.fill_(self.clip)

    def forward(self, x: Tensor) -> Tensor:
        """(..., *shape), any number type."""
        values = (x.to(self.mean.dtype) - self.mean) / self.std
        return torch.clamp(values, -self.limit, self.limit) if self.fitted else values

    def inverse(self, x: Tensor) -> Tensor:
        return x * self.std + self.mean


class Choices(nn.Module):
    """How often each class of each component stands in the data; a sum of learned rows without what is always in it."""

    shares: Tensor
    scale: Tensor
    fitted = True

    def __init__(self, sizes: Sequence[int]) -> None:
        """Starts with all classes as frequent as each other."""
        super().__init__()
        even = np.concatenate([np.full(size, 1 / size) for size in sizes])
        self.register_buffer("shares", torch.as_tensor(even, dtype=torch.float32))
        self.register_buffer("scale", torch.ones(()))
        self.fit(even)

    @torch.no_grad()
    def fit(self, shares: Array) -> None:
        """Take other shares, those of a component summing to 1."""
        # Rows start with a variance of 1, so this is the variance of the sum of those that the data draws.
        varies = float((shares * (1 - shares)).sum())
        self.shares.copy_(torch.as_tensor(shares))
        self.scale.fill_(max(varies, LEAST_VARIANCE) ** -0.5)

    def forward(self, summed: Tensor, table: Tensor) -> Tensor:
        """(..., D), a sum of rows of the table (rows, D), about 0 and of the size of a row."""
        return (summed - self.shares @ table) * self.scale
