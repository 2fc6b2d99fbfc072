"""Noise on memory between segments, in training only, so that small errors are learnt away; the paper has none."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rate.nn.kinds import NoiseUnit


@dataclass(frozen=True, kw_only=True)
class MemoryNoise:
    """How much, from when on and how soon, in shares of the training."""

    size: float = 0.0
    start: float = 0.0
    ramp: float = 0.0
    unit: NoiseUnit = "one"

    def at(self, trained: float) -> float:
        """The size at a point of the training."""
        grown = trained - self.start
        if grown < 0:
            return 0.0
        return self.size * (min(1.0, grown / self.ramp) if self.ramp else 1.0)

    def added(self, memory: Tensor, trained: float) -> Tensor:
        """Memory (B, M, D) with its noise."""
        size = self.at(trained)
        if not size:
            return memory
        if self.unit == "one":
            return memory + size * torch.randn_like(memory)
        return memory + size * memory.detach().square().mean((1, 2), keepdim=True).sqrt() * torch.randn_like(memory)
