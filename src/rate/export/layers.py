"""The layers of the decoder, in the shapes that an exported step keeps: keys and values (B, places, groups x width)."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from rate.export.operators import attended, turned
from rate.nn.transformer import Layer, Transformer

HIDDEN = -1e9
"""Added to a score, it leaves no weight; finite, since a token that sees nothing must not become nan."""


class Layers:
    """The two halves of every layer: project new tokens, and mix what they look at."""

    def __init__(self, transformer: Transformer) -> None:
        config, rotary = transformer.config, transformer.rotary
        self.all = [cast(Layer, layer) for layer in transformer.layers]
        self.heads, self.groups, self.width = config.heads, config.kv_heads, config.head_width
        half = self.width // 2
        self.cos, self.sin = rotary.cos[:, 0, :half].clone(), rotary.sin[:, 0, half:].clone()

    def project(self, layer: Layer, x: Tensor, slots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of tokens (B, L, D) at the slots (B, L)."""
        asked, kept = self.heads * self.width, self.groups * self.width
        both, value = torch.split(layer.attention.qkv(layer.norm(x)), [asked + kept, kept], -1)
        both = turned(both, self.cos, self.sin, slots, self.heads + self.groups)
        query, key = torch.split(both, [asked, kept], -1)
        return query, key, value

    def spread(self, bias: Tensor, tokens: int) -> Tensor:
        """Scores (L, S) to add, as `mix` takes them: where one key serves all heads, they are rows of one product."""
        return bias[torch.arange(tokens).repeat_interleave(self.heads)] if self.groups == 1 else bias

    def last(self, bias: Tensor) -> Tensor:
        """Of scores that are spread, those of the last token."""
        return bias[-self.heads :] if self.groups == 1 else bias[-1:]

    def mix(
        self, layer: Layer, x: Tensor, asked: tuple[Tensor, int], key: Tensor, value: Tensor, bias: Tensor
    ) -> Tensor:
        """The rest of the layer for tokens whose queries, so many of them, look at keys and values."""
        query, tokens = asked
        if self.groups == 1:  # one product for all heads and tokens: twice as fast as the operator
            rows = query.reshape(-1, tokens * self.heads, self.width)
            scores = rows @ key.transpose(1, 2) * self.width**-0.5 + bias
            mixed = (scores.softmax(-1) @ value).reshape(-1, tokens, self.heads * self.width)
        else:
            mixed = attended(query, key, value, bias, self.heads, self.groups)
        return layer.finish(x, mixed)
