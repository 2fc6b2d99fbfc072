"""Causal networks that are run over a whole row of tokens at once: a token sees itself and those before it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from rate.nn.transformer import Transformer, TransformerConfig


class Causal(nn.Module, ABC):
    """Nothing is carried from call to call."""

    @abstractmethod
    def forward(self, x: Tensor, wanted: Tensor) -> Tensor:
        """(B, L, D) -> (B, wanted, D), the outputs of the tokens in these places."""

    @abstractmethod
    def last(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, D), the output of the last token, without what only the others need."""


class CausalTransformer(Causal):
    """The decoder over at most `slots` tokens, without memory or cache."""

    def __init__(self, config: TransformerConfig, slots: int) -> None:
        super().__init__()
        self.transformer = Transformer(config, torch.ones(slots, slots).tril().bool())

    def forward(self, x: Tensor, wanted: Tensor) -> Tensor:
        hidden: Tensor = self.transformer(x, 0, (), wanted)[0]
        return hidden

    def last(self, x: Tensor) -> Tensor:
        return self.transformer.last(x)
