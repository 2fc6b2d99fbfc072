"""Multi-head attention with rotary positions, as two halves: project new tokens, attend to keys and values.

Training and acting call the same halves, so a key made in one is the key made in the other.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Rotary(nn.Module):
    """Rotary positions: a score depends on the signed distance of two slots, so both directions are well defined."""

    cos: Tensor
    sin: Tensor

    def __init__(self, slots: int, head_width: int, base: float = 10_000.0) -> None:
        super().__init__()
        frequency = base ** (-torch.arange(0, head_width, 2, dtype=torch.float64) / head_width)
        angle = torch.arange(slots, dtype=torch.float64)[:, None] * frequency  # (slots, width / 2)
        cos, sin = angle.cos().float(), angle.sin().float()
        # The sign of the rotation sits in the table, so that turning a vector is one roll and two products.
        self.register_buffer("cos", torch.cat([cos, cos], -1)[:, None], persistent=False)  # (slots, 1, width)
        self.register_buffer("sin", torch.cat([-sin, sin], -1)[:, None], persistent=False)

    def forward(self, x: Tensor, start: int) -> Tensor:
        """Turn (B, L, heads, width) to the slots start .. start + L - 1."""
        stop = start + x.shape[1]
        rolled = x.roll(x.shape[-1] // 2, -1)
        return torch.addcmul(x * self.cos[start:stop], rolled, self.sin[start:stop])


class Attention(nn.Module):
    """Bias-free projections to `heads` query heads over `kv_heads` key / value heads of `head_width`.

    The query heads that share a key head are folded into the rows of one fused call: (L x share) queries against
    L keys. With few key heads this is several times faster, and the keys and values kept for acting are smaller.
    """

    def __init__(self, width: int, heads: int, kv_heads: int, head_width: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width, self.dropout = heads, kv_heads, head_width, dropout
        self.share = heads // kv_heads
        # Values have a projection of their own: as a view of one fused output they would keep all of it alive.
        self.qk = nn.Linear(width, (heads + kv_heads) * head_width, bias=False)
        self.v = nn.Linear(width, kv_heads * head_width, bias=False)
        self.out = nn.Linear(heads * head_width, width, bias=False)

    def project(self, x: Tensor, rotary: Rotary, start: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, G, L x share, width), keys and values (B, G, L, width) of tokens in slots from `start` on."""
        batch, length, _ = x.shape
        groups, width = self.kv_heads, self.head_width
        turned = rotary(self.qk(x).view(batch, length, self.heads + groups, width), start)
        query, key = turned.split((self.heads, groups), 2)
        query = query.view(batch, length, groups, self.share, width).transpose(1, 2)
        value = self.v(x).view(batch, length, groups, width).transpose(1, 2)
        return query.reshape(batch, groups, length * self.share, width), key.transpose(1, 2), value

    def attend(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        """Mix the values of all slots that `bias` (L x share, slots) leaves visible: (B, L, D)."""
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout)
        batch, groups, rows, width = mixed.shape
        mixed = mixed.view(batch, groups, rows // self.share, self.share * width).transpose(1, 2)
        merged: Tensor = self.out(mixed.flatten(2))
        return merged
