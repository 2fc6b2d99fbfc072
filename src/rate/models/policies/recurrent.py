"""Recurrence from token to token: a backbone with a state, fed step by step and never looking back.

With separate tokens a step is a_{t-1}, R_t, o_t, three updates; else it is one token, the sum of what is told of it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from rate.models.policy import SequencePolicy
from rate.nn.backbone import Backbone
from rate.nn.kinds import HeadKind
from rate.nn.tokens import Tokens
from rate.types import Inputs, Output, Segment, Spaces, Tree


class RecurrentPolicy(SequencePolicy[Tree]):
    """Tokens into a backbone, the prediction out of the one that ends with the observation."""

    context = None

    def __init__(
        self, spaces: Spaces, tokens: Tokens, backbone: Backbone, *, separate: bool, head: HeadKind = "imitation"
    ) -> None:
        super().__init__(spaces, backbone.width, head)
        self.take(tokens)
        self.backbone, self.separate = backbone, separate

    def initial_state(self, batch: int) -> Tree:
        return self.backbone.initial_state(batch)

    def forward(self, segment: Segment, state: Tree) -> tuple[Output, Tree]:
        """A window is one segment: it starts from the initial state, and nothing is carried past its end."""
        parts = self._parts(segment)
        # No action comes before the first step, so its token is left out.
        absent = int(self.separate and self.tokens.actions is not None)
        sequence = torch.stack(parts, 2).flatten(1, 2)[:, absent:] if self.separate else torch.stack(parts).sum(0)
        each = len(parts) if self.separate else 1
        # Padding runs along, behind all that is real; packing it away costs more than it saves.
        hidden, _ = self.backbone(self.tokens.dropout(sequence), state)
        return Output(prediction=self.readout(hidden[:, each - 1 - absent :: each])), state

    def _parts(self, segment: Segment) -> list[Tensor]:
        """The tokens of every step, each (B, T, D): [a_{t-1}, R_t, o_t], or those of them that the model is told."""
        prompt = self.tokens.prompt(segment)
        if self.tokens.actions is None:
            return prompt
        taken = self.tokens.action(segment.action, segment.timestep)
        return [F.pad(taken[:, :-1], (0, 0, 1, 0)), *prompt]

    @torch.no_grad()
    def step(self, x: Inputs, state: Tree) -> tuple[Output, Tree]:
        tokens = [*self.tokens.previous(x), *self.tokens.prompt(x)]
        for token in tokens if self.separate else [torch.stack(tokens).sum(0)]:
            hidden, state = self.backbone.step(token, state)
        return Output(prediction=self.readout(hidden)), state
