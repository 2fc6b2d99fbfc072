"""Memory embeddings and the Memory Retention Valve (MRV), section 3 of the paper.

A valve takes the memory that came in and the memory that the segment wrote, and decides what is carried on.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rate.registry import Registry

ACTIVATIONS: Registry[Callable[[Tensor], Tensor]] = Registry("activation")
ACTIVATIONS.add("relu", F.relu)
ACTIVATIONS.add("leaky-relu", F.leaky_relu)
ACTIVATIONS.add("gelu", F.gelu)
ACTIVATIONS.add("tanh", torch.tanh)
ACTIVATIONS.add("identity", lambda x: x)

VALVES: Registry[Callable[..., nn.Module]] = Registry("valve")
"""Name to class; a valve is built as Valve(width, heads, activation) and called as valve(incoming, written)."""


@VALVES.register("none")
class NoValve(nn.Module):
    """M_{n+1} = what the segment wrote: the recurrence of the Recurrent Memory Transformer."""

    def __init__(self, width: int, heads: int, activation: str) -> None:
        super().__init__()

    def forward(self, incoming: Tensor, written: Tensor) -> Tensor:
        return written


@VALVES.register("ca2")
class CrossAttentionValve(nn.Module):
    """M_{n+1} = MultiHead(query = M_n, key = value = act(written)): the incoming memory asks, the written answers.

    The activation on the written memory is the paper's `mrv_act`. No residual, as in the paper's equation.
    """

    def __init__(self, width: int, heads: int, activation: str) -> None:
        super().__init__()
        # Differs from the paper: no feed-forward block after the attention, as in the runs behind the paper's tables.
        self.heads = heads
        self.activation = ACTIVATIONS.get(activation)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, incoming: Tensor, written: Tensor) -> Tensor:
        query = self._heads(self.query(incoming))
        key, value = self.key_value(self.activation(written)).chunk(2, -1)
        mixed = F.scaled_dot_product_attention(query, self._heads(key), self._heads(value))
        kept: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return kept

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # (B, heads, M, D / heads)
