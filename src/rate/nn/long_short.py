"""LSDT: blocks that give some channels to attention (long range), the others to a dynamic convolution (short range)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rate.nn.attention import Rotary, Rows, turn
from rate.nn.causal import Causal
from rate.nn.dropout import Dropout
from rate.nn.tracing import is_tracing

CHANNELS = 4
"""Neighbouring channels that share one kernel."""


@dataclass(frozen=True, kw_only=True)
class LongShortConfig:
    """Sizes of the blocks."""

    layers: int
    width: int
    heads: int
    conv_width: int
    kernel: int
    dropout: float
    kernel_dropout: float


class Attention(nn.Module):
    """Plain multi-head attention without an output projection: the fusion that follows has one."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, rows: Rows, outputs: int) -> Tensor:
        """(B, L, P) -> (B, outputs, P), the last tokens; all of them, or the last one, which may look at all."""
        batch, length, _ = x.shape
        turned = turn(self.qkv(x).view(batch, length, 3 * self.heads, -1), rows).transpose(1, 2)
        query, key, value = turned.chunk(3, 1)
        every = bool(outputs == length)  # while a graph is traced, lengths are tensors
        mixed = F.scaled_dot_product_attention(query[:, :, -outputs:], key, value, is_causal=every)
        attended: Tensor = self.dropout(mixed.transpose(1, 2).flatten(2))
        return attended


class DynamicConvolution(nn.Module):
    """A convolution over the last `kernel` tokens whose weights each token chooses: a softmax over the taps."""

    def __init__(self, width: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.kernel = kernel
        self.gate = nn.Linear(width, 2 * width)
        self.weights = nn.Linear(width, width // CHANNELS * kernel)
        self.dropout = Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(width))
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, outputs: int) -> Tensor:
        """(B, L, C) -> (B, outputs, C), the last tokens."""
        gated = F.glu(self.gate(x), -1)
        # Tap j of token t looks at token t + j + 1 - kernel; those before the first token get no weight.
        place = torch.arange(x.shape[1] - outputs, x.shape[1], device=x.device)[:, None]
        places = place + torch.arange(self.kernel, device=x.device)
        absent = places < self.kernel - 1
        logits = self.weights(gated[:, -outputs:]).view(x.shape[0], outputs, -1, self.kernel)  # (B, L, heads, taps)
        weights = self.dropout(logits.masked_fill(absent[:, None], float("-inf")).softmax(-1))
        padded = F.pad(gated, (0, 0, self.kernel - 1, 0))
        # A window over the tokens, not a copy of them, which a graph does not have: (B, L, heads, channels, taps).
        windows = padded[:, places].transpose(2, 3) if is_tracing() else padded.unfold(1, self.kernel, 1)[:, -outputs:]
        taps = windows.reshape(*weights.shape[:3], CHANNELS, self.kernel)
        mixed = (taps * weights[:, :, :, None]).sum(-1).flatten(2)
        convolved: Tensor = self.out(mixed + self.bias)
        return convolved


class Block(nn.Module):
    """Both branches, their fusion, and a feed-forward block; each half is normed after the sum."""

    def __init__(self, sizes: LongShortConfig) -> None:
        super().__init__()
        width = sizes.width
        self.conv_width = sizes.conv_width
        self.attention = Attention(width - sizes.conv_width, sizes.heads, sizes.dropout)
        self.convolution = DynamicConvolution(sizes.conv_width, sizes.kernel, sizes.kernel_dropout)
        self.fusion = nn.Sequential(
            nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, width), nn.Softmax(-1)
        )
        self.out = nn.Linear(width, width)
        self.dropout = Dropout(sizes.dropout)
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), self.dropout
        )

    def forward(self, x: Tensor, rows: Rows, outputs: int) -> Tensor:
        """(B, L, D) -> (B, outputs, D), the last tokens."""
        long, short = x[..., : -self.conv_width], x[..., -self.conv_width :]
        mixed = torch.cat([self.attention(long, rows, outputs), self.convolution(short, outputs)], -1)
        x = self.norm(x[:, -outputs:] + self.dropout(self.out(self.fusion(mixed) * mixed)))
        block: Tensor = self.last_norm(x + self.feed_forward(x))
        return block


class LongShort(Causal):
    """A stack of blocks over at most `slots` tokens."""

    def __init__(self, sizes: LongShortConfig, slots: int) -> None:
        super().__init__()
        head_width = (sizes.width - sizes.conv_width) // sizes.heads
        # Differs from the paper: rotary positions in the attention, where it has only the table of timesteps.
        self.rotary = Rotary(slots, 2 * sizes.heads, sizes.heads, head_width)
        self.norm = nn.LayerNorm(sizes.width)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))

    def forward(self, x: Tensor, wanted: Tensor) -> Tensor:
        return self._run(x, x.shape[1]).index_select(1, wanted)

    def last(self, x: Tensor) -> Tensor:
        return self._run(x, 1)[:, 0]

    def _run(self, x: Tensor, outputs: int) -> Tensor:
        """Every block over all tokens, the top one for the last `outputs` of them."""
        x, rows, length = self.norm(x), self.rotary(0, x.shape[1]), x.shape[1]
        *below, top = (cast(Block, block) for block in self.blocks)
        for block in below:
            x = block(x, rows, length)
        result: Tensor = top(x, rows, outputs)
        return result
