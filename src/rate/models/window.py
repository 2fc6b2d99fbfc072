"""Sliding windows: the model sees the last K steps and nothing else (Decision Transformer).

Acting recomputes the window at each step: stored keys and values would carry, through depth, what has left it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rate.models.policy import SequencePolicy
from rate.nn.encoders import Tokens
from rate.nn.transformer import Transformer, TransformerConfig
from rate.types import Inputs, Output, Segment, Spaces


@dataclass(frozen=True, kw_only=True)
class WindowState:
    """The tokens of the last steps."""

    tokens: Tensor
    """(B, 3K - 1, D), the newest at the end: the last action is not known when the next one is chosen."""
    filled: int
    """How many of the tokens are there yet."""


class WindowPolicy(SequencePolicy[WindowState]):
    """A causal transformer over the last `context` steps."""

    segment_len = None
    context: int

    def __init__(self, spaces: Spaces, context: int, transformer: TransformerConfig) -> None:
        super().__init__(spaces, transformer.width)
        self.context = context
        self.tokens = Tokens(spaces, transformer.width, transformer.dropout)
        causal = torch.ones(3 * context, 3 * context).tril().bool()
        self.transformer = Transformer(transformer, causal)

    def initial_state(self, batch: int) -> WindowState:
        width = self.transformer.config.width
        return WindowState(tokens=self.readout.weight.new_zeros(batch, 3 * self.context - 1, width), filled=0)

    def forward(self, segment: Segment, state: WindowState) -> tuple[Output, WindowState]:
        tokens = self.tokens(segment.observation, segment.return_to_go, segment.action)
        hidden, _ = self.transformer(tokens, 0, ())
        return Output(prediction=self.readout(hidden[:, 1::3])), state

    @torch.no_grad()
    def step(self, x: Inputs, state: WindowState) -> tuple[Output, WindowState]:
        new = self.tokens.prompt(x.observation, x.return_to_go)
        if x.previous_action is not None:
            new = [self.tokens.action(x.previous_action), *new]
        tokens = torch.cat([state.tokens, torch.stack(new, 1)], 1)[:, len(new) :]
        filled = min(state.filled + len(new), tokens.shape[1])
        hidden, _ = self.transformer(tokens[:, -filled:], 0, ())
        return Output(prediction=self.readout(hidden[:, -1])), WindowState(tokens=tokens, filled=filled)
