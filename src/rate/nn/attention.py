"""Multi-head attention with rotary positions, as two halves: project new tokens, attend to keys and values.

Training and acting call the same halves, so a key made in one is the key made in the other.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Rows: TypeAlias = tuple[Tensor, Tensor]
"""Cosines and sines of some slots, (L, heads + still, width) each."""
FEW = 128
"""Slots up to which plain products train sooner on a CPU than the fused kernel, which is made for long rows."""


class Rotary(nn.Module):
    """Rotary positions: a score depends on the signed distance of two slots, so both directions are well defined.

    The last `still` heads (the values) are not turned; they have a row in the table so that one pass serves all.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, slots: int, heads: int, still: int, head_width: int, base: float = 10_000.0) -> None:
        super().__init__()
        frequency = base ** (-torch.arange(0, head_width, 2, dtype=torch.float64) / head_width)
        angle = torch.arange(slots, dtype=torch.float64)[:, None] * frequency  # (slots, width / 2)
        cos, sin = angle.cos().float(), angle.sin().float()
        # The sign of the rotation sits in the table, so that turning a vector is one roll and two products.
        turned_cos = torch.cat([cos, cos], -1)[:, None].expand(-1, heads, -1)
        turned_sin = torch.cat([-sin, sin], -1)[:, None].expand(-1, heads, -1)
        one = torch.ones(slots, still, head_width)
        self.register_buffer("cos", torch.cat([turned_cos, one], 1), persistent=False)  # (slots, heads + still, width)
        self.register_buffer("sin", torch.cat([turned_sin, 0 * one], 1), persistent=False)

    def forward(self, start: int, length: int) -> Rows:
        """The rows of the slots start .. start + length - 1; all layers share them."""
        return self.cos[start : start + length], self.sin[start : start + length]


def turn(x: Tensor, rows: Rows) -> Tensor:
    """Turn (B, L, heads + still, width) to the slots of the rows."""
    cos, sin = rows
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


def as_products(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """What the fused kernel computes, as two products: queries (B, G, R, width), keys and values (B, G, L, width)."""
    shape, pairs = query.shape, query.shape[0] * query.shape[1]
    asked = query.flatten(0, 1) / math.sqrt(shape[-1])
    scores = torch.baddbmm(bias.expand(pairs, -1, -1), asked, key.flatten(0, 1).transpose(1, 2))
    return torch.bmm(scores.softmax(-1), value.flatten(0, 1)).view(shape)


class Attention(nn.Module):
    """Bias-free projections to `heads` query heads over `kv_heads` key / value heads of `head_width`.

    The query heads that share a key head are folded into the rows of one fused call: (L x share) queries against
    L keys. With few key heads this is several times faster, and the keys and values kept for acting are smaller.
    """

    def __init__(self, width: int, heads: int, kv_heads: int, head_width: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width, self.dropout = heads, kv_heads, head_width, dropout
        # Differs from the paper: query heads share key heads; kv_heads = heads gives the paper's attention.
        self.share = heads // kv_heads
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * head_width, bias=False)
        self.out = nn.Linear(heads * head_width, width, bias=False)

    def project(self, x: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
        """Of tokens in the slots of the rows: queries (B, G, L x share, width), key-values (B, 2G, L, width)."""
        batch, length, _ = x.shape
        turned = turn(self.qkv(x).view(batch, length, self.heads + 2 * self.kv_heads, self.head_width), rows)
        query = turned[:, :, : self.heads].view(batch, length, self.kv_heads, self.share, self.head_width)
        query = query.transpose(1, 2).reshape(batch, self.kv_heads, length * self.share, self.head_width)
        return query, turned[:, :, self.heads :].transpose(1, 2)

    def chosen(self, query: Tensor, wanted: Tensor) -> Tensor:
        """The queries (B, G, L x share, width) of some of the L tokens."""
        batch, groups, _, width = query.shape
        by_token = query.view(batch, groups, -1, self.share * width)
        return by_token.index_select(2, wanted).view(batch, groups, -1, width)

    def forward(self, query: Tensor, key_value: Tensor, bias: Tensor) -> Tensor:
        """Mix the values of all slots that `bias` (L x share, slots) leaves visible: (B, L, heads x width)."""
        dropout = self.dropout if self.training else 0.0
        key, value = key_value[:, : self.kv_heads], key_value[:, self.kv_heads :]
        if self.training and not dropout and key.shape[2] <= FEW and key.device.type == "cpu":
            mixed = as_products(query, key, value, bias)
        else:
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout)
        batch, groups, rows, width = mixed.shape
        return mixed.view(batch, groups, rows // self.share, self.share * width).transpose(1, 2).flatten(2)

    def weights(self, query: Tensor, key_value: Tensor, bias: Tensor) -> Tensor:
        """What `forward` weighs the values with, (B, heads, L, slots); fused attention does not give it."""
        key = key_value[:, : self.kv_heads]
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.head_width) + bias
        batch, groups, rows, slots = scores.shape
        by_head = scores.softmax(-1).view(batch, groups, rows // self.share, self.share, slots).transpose(2, 3)
        return by_head.reshape(batch, self.heads, rows // self.share, slots)
