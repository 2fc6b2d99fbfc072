"""The gate of a GRU between two streams of one width: how much of the old is kept, how much of the new is let in.

GTrXL has it in place of its residual sums (`nn/transformer.py`), MRV-G between two memories (`nn/memory.py`).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

BIAS = 2.0
"""How far every gate starts on the side of keeping: sigmoid(2) = 0.88 of the old is kept."""


class Gate(nn.Module):
    """With r and z between 0 and 1, and h the candidate:

    r = sigmoid(old W_r + new U_r)
    z = sigmoid(old W_z + new U_z - bias)
    h = tanh(old W_g + new U_g), where `resets` names the one of the two that is multiplied by r first
    result = (1 - z) old + z h
    """

    def __init__(self, width: int, resets: Literal["old", "new"]) -> None:
        super().__init__()
        self.resets = resets
        self.gates_old = nn.Linear(width, 2 * width, bias=False)  # W_r, W_z
        self.gates_new = nn.Linear(width, 2 * width, bias=False)  # U_r, U_z
        self.candidate_old = nn.Linear(width, width, bias=False)  # W_g
        self.candidate_new = nn.Linear(width, width, bias=False)  # U_g
        self.bias = nn.Parameter(torch.full((width,), BIAS))

    def forward(self, old: Tensor, new: Tensor) -> Tensor:
        r, z = (self.gates_old(old) + self.gates_new(new)).chunk(2, -1)
        r, z = torch.sigmoid(r), torch.sigmoid(z - self.bias)
        first, second = (old * r, new) if self.resets == "old" else (old, new * r)
        h = torch.tanh(self.candidate_old(first) + self.candidate_new(second))
        return (1 - z) * old + z * h
