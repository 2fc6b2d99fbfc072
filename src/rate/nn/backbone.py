"""Backbone: a network that runs over tokens and carries a state, all at once or one token at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch.nn.functional as F
from torch import Tensor, nn

from rate.nn.dropout import Dropout
from rate.types import Tree


class Backbone(nn.Module, ABC):
    """Causal over tokens. `forward` and `step` agree: one call over L tokens is L steps."""

    width: int
    """Width of the outputs."""

    @abstractmethod
    def initial_state(self, batch: int) -> Tree:
        """The state before the first token: a tree of tensors, batch-first; empty for a network without memory."""

    @abstractmethod
    def forward(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        """(B, L, D) -> (B, L, width), and the state after the last token."""

    @abstractmethod
    def step(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        """One token: (B, D) -> (B, width), and the state after it."""


class Mlp(Backbone):
    """Hidden layers with ReLU and dropout; nothing is carried."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], dropout: float) -> None:
        super().__init__()
        self.width = hidden[-1]
        sizes = zip((inputs, *hidden), hidden, strict=False)
        self.layers = nn.ModuleList(nn.Linear(size, after) for size, after in sizes)
        self.dropout = Dropout(dropout)

    def initial_state(self, batch: int) -> Tree:
        return ()

    def forward(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        return self._run(x), state

    def step(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        return self._run(x), state

    def _run(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = self.dropout(F.relu(layer(x)))
        return x
