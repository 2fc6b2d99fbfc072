"""The decoder: pre-norm layers over the slots [cache | memory | tokens | memory] of one segment.

`forward` runs a whole segment (training); `extend` runs a few new tokens against stored keys and values (acting).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rate.nn.attention import Attention, Rotary, Rows
from rate.nn.dropout import Dropout
from rate.nn.gate import Gate
from rate.nn.tracing import is_tracing

Keys: TypeAlias = Callable[[Tensor], Tensor]
"""New keys and values (B, 2 x kv_heads, L, head width) -> all those that are looked at."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes of the decoder."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int
    dropout: float
    attention_dropout: float
    gated: bool = False
    """Gates in place of the residual sums (GTrXL)."""


class Layer(nn.Module):
    """x + attention(norm(x)), then, unless its width is 0, x + feed-forward(norm(x))."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, inner = config.width, config.feed_forward
        # Differs from the paper: the norm comes before the attention, not after the sum; it learns sooner.
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, config.heads, config.kv_heads, config.head_width, config.attention_dropout)
        self.dropout = Dropout(config.dropout)
        self.feed_forward: nn.Module | None = None
        if inner:
            self.feed_forward = nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width), self.dropout
            )

    def forward(
        self, x: Tensor, rows: Rows, bias: Tensor, keys: Keys | None = None, wanted: Tensor | None = None
    ) -> Tensor:
        """Run tokens (B, L, D) in the slots of the rows; with `wanted`, only the outputs of some of them are made.

        `keys` takes the new keys and values and gives all that the tokens look at; None: the new ones.
        """
        query, key_value = self.project(x, rows)
        if wanted is not None:
            x, query = x.index_select(1, wanted), self.attention.chosen(query, wanted)
        return self.mix(x, query, key_value if keys is None else keys(key_value), bias)

    def project(self, x: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
        return self.attention.project(self.norm(x), rows)

    def mix(self, x: Tensor, query: Tensor, key_value: Tensor, bias: Tensor) -> Tensor:
        return self.finish(x, self.attention(query, key_value, bias))

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """What follows the attention: (B, L, D) and the mixed values (B, L, heads x width) -> (B, L, D)."""
        if self.training or is_tracing():
            x = x + self.dropout(self.attention.out(mixed))
        else:  # the same in one kernel: acting is a chain of small ones
            x = torch.addmm(x.flatten(0, 1), mixed.flatten(0, 1), self.attention.out.weight.t()).view(x.shape)
        return x if self.feed_forward is None else x + self.feed_forward(x)


class GatedLayer(Layer):
    """GTrXL: gate(x, relu(attention(norm(x)))), then, unless its width is 0, gate(x, relu(feed-forward(norm(x))))."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.attention_gate = Gate(config.width, resets="old")
        self.feed_forward_gate = Gate(config.width, resets="old") if config.feed_forward else None

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        x = self.attention_gate(x, F.relu(self.dropout(self.attention.out(mixed))))
        if self.feed_forward is None or self.feed_forward_gate is None:
            return x
        gated: Tensor = self.feed_forward_gate(x, F.relu(self.feed_forward(x)))
        return gated


@dataclass(frozen=True, kw_only=True)
class SlotBuffers:
    """What acting keeps of one segment, preallocated: a row per slot, written in place."""

    key_values: tuple[Tensor, ...]
    """Per layer (B, 2 x kv_heads, slots, head width)."""
    hidden: tuple[Tensor, ...]
    """Per layer (B, slots, D), the inputs of the layer; empty where nothing is cached between segments."""


class Transformer(nn.Module):
    """A stack of layers over a fixed row of slots; `visible[i, j]` says whether slot i may look at slot j."""

    bias: Tensor

    def __init__(self, config: TransformerConfig, visible: Tensor) -> None:
        super().__init__()
        self.config = config
        kind = GatedLayer if config.gated else Layer
        self.layers = nn.ModuleList(kind(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.lay_out(visible)

    def lay_out(self, visible: Tensor) -> None:
        """Serve this row of slots from now on; no weight depends on it."""
        config, like = self.config, self.norm.weight
        self.slots = visible.shape[1]
        # Differs from the paper: rotary positions in place of Transformer-XL's relative scores, which fused attention
        # cannot take and which mean nothing between memory tokens that look at each other in both directions.
        rotary = Rotary(self.slots, config.heads + config.kv_heads, config.kv_heads, config.head_width)
        self.rotary = rotary.to(like.device)
        # A table of additive scores, cut and not rebuilt for a segment: zero where a slot may look, else -infinity.
        bias = torch.zeros(visible.shape).masked_fill(~visible, float("-inf"))
        self.register_buffer("bias", bias.to(like.device), persistent=False)

    def _layers(self) -> list[Layer]:
        return [cast(Layer, layer) for layer in self.layers]

    def _bias(self, first: int, start: int, stop: int, wanted: Tensor | None = None) -> Tensor:
        """Scores of the slots start .. stop - 1, or those `wanted` of them, against first .. stop - 1, a row per query
        head of a group."""
        rows = self.bias[start:stop, first:stop]
        rows = rows if wanted is None else rows.index_select(0, wanted)
        return rows.repeat_interleave(self.config.heads // self.config.kv_heads, 0)

    def forward(
        self, x: Tensor, start: int, cache: Sequence[Tensor], wanted: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Run the tokens (B, L, D) of the slots from `start` on; `cache` is, per layer, what lies just before them.

        Returns the normed output, of all tokens or of those `wanted`, for which alone the top layer then runs, and the
        inputs of every layer (what the next segment may cache).
        """
        cached = cache[0].shape[1] if cache else 0
        first, stop, top = start - cached, start + x.shape[1], len(self.layers) - 1
        bias = self._bias(first, start, stop)
        rows, past_rows = self.rotary(start, x.shape[1]), self.rotary(start - cached, cached)
        inputs: list[Tensor] = []
        for index, layer in enumerate(self._layers()):
            inputs.append(x)
            past = [layer.project(cache[index], past_rows)[1]] if cached else []
            asked = wanted if index == top else None
            seen = bias if asked is None else self._bias(first, start, stop, asked)
            # A copy: as a view it would keep queries alive that backward does not need.
            x = layer(x, rows, seen, lambda new, past=past: torch.cat([*past, new], 2), asked)
        return self.norm(x), inputs

    def last(self, x: Tensor) -> Tensor:
        """The output (B, D) of the last of the tokens (B, L, D)."""
        newest = torch.arange(x.shape[1], device=x.device)[-1:]
        outputs: Tensor = self(x, 0, (), newest)[0]
        return outputs[:, 0]

    def buffers_for(self, batch: int, *, keep_hidden: bool) -> SlotBuffers:
        """Empty buffers for acting."""
        config, like = self.config, self.bias
        shape = (batch, 2 * config.kv_heads, self.slots, config.head_width)
        hidden = (like.new_zeros(batch, self.slots, config.width) for _ in range(config.layers if keep_hidden else 0))
        return SlotBuffers(key_values=tuple(like.new_zeros(shape) for _ in range(config.layers)), hidden=tuple(hidden))

    def extend(self, x: Tensor, start: int, first: int, buffers: SlotBuffers) -> Tensor:
        """Run new tokens (B, L, D) of the slots from `start` on; they look at the stored slots from `first` on."""
        stop = start + x.shape[1]
        bias, rows = self._bias(first, start, stop), self.rotary(start, x.shape[1])
        for index, layer in enumerate(self._layers()):
            if buffers.hidden:
                buffers.hidden[index][:, start:stop] = x

            def keys(new: Tensor, stored: Tensor = buffers.key_values[index]) -> Tensor:
                stored[:, :, start:stop] = new
                return stored[:, :, first:stop]

            x = layer(x, rows, bias, keys)
        normed: Tensor = self.norm(x)
        return normed

    def load_cache(self, stop: int, first: int, buffers: SlotBuffers) -> None:
        """Make the keys and values of the cached hidden states that stand in the slots first .. stop - 1."""
        rows = self.rotary(first, stop - first)
        for layer, hidden, stored in zip(self._layers(), buffers.hidden, buffers.key_values, strict=True):
            stored[:, :, first:stop] = layer.project(hidden[:, first:stop], rows)[1]
