"""Dropout whose mask is cheap on a CPU: four entries share the 64 bits of one draw.

Torch draws a number for each entry, one by one, which was an eighth of a training step.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 2**16
"""Shares are rounded to one of so many."""


class Dropout(nn.Dropout):
    """nn.Dropout with other draws on a CPU."""

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or not 0 < self.p < 1 or input.device.type != "cpu":
            return F.dropout(input, self.p, self.training)
        draws = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        level = draws.view(torch.int16)[: input.numel()].view(input.shape)
        kept = level >= round(self.p * LEVELS) - LEVELS // 2
        return input * (kept.to(input.dtype) * (1 / (1 - self.p)))
