"""Sliding context: the model sees the last K steps and nothing else (Decision Transformer).

Acting recomputes the context at each step: stored keys and values would carry, through depth, what has left it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor

from rate.models.policy import SequencePolicy
from rate.nn.causal import Causal
from rate.nn.encoders import build_encoder
from rate.nn.tokens import Tokens, TokensConfig
from rate.types import Inputs, Output, Segment, Spaces, Tree, tree_map


@dataclass(frozen=True, kw_only=True)
class ContextState:
    """The tokens of the last steps."""

    tokens: Tensor
    """(B, tokens, D), those of K steps without the last action, which is not known yet; the newest at the end."""
    filled: int
    """How many of the tokens are there yet."""


class ContextPolicy(SequencePolicy[ContextState]):
    """A causal network over the last `context` steps; with `oracle`, a privileged fact stands in front of them.

    `backbone` makes the network for a number of tokens.
    """

    context: int

    def __init__(
        self,
        spaces: Spaces,
        tokens: TokensConfig,
        context: int,
        backbone: Callable[[int], Causal],
        *,
        oracle: gym.Space[Any] | None = None,
    ) -> None:
        super().__init__(spaces, tokens.width)
        self.context = context
        self.take(Tokens(spaces, tokens))
        self.backbone = backbone(tokens.per_step * context + (0 if oracle is None else 2))
        # Differs from the paper: the fact is encoded as an observation is; there, all components equal the bit.
        plain = replace(tokens.encoder, name="classic", normalise="off")
        self.oracle = None if oracle is None else build_encoder(oracle, tokens.width, plain)
        self.takes_oracle = oracle is not None

    def initial_state(self, batch: int) -> ContextState:
        config = self.tokens.config
        length = config.per_step * self.context - config.unknown
        return ContextState(tokens=self.readout.weight.new_zeros(batch, length, config.width), filled=0)

    def forward(self, segment: Segment, state: ContextState) -> tuple[Output, ContextState]:
        tokens, first = self.tokens(segment), self.tokens.config.observed
        stop = tokens.shape[1]
        if self.oracle is not None:
            fact = self._oracle_token(tree_map(lambda leaf: leaf[:, 0], segment.oracle))
            tokens, first, stop = torch.cat([fact, tokens, fact], 1), first + 1, stop + 1
        observed = torch.arange(first, stop, self.tokens.config.per_step, device=tokens.device)
        return Output(prediction=self.readout(self.backbone(tokens, observed))), state

    @torch.no_grad()
    def step(self, x: Inputs, state: ContextState) -> tuple[Output, ContextState]:
        new = [*self.tokens.previous(x), *self.tokens.prompt(x)]
        tokens = torch.cat([state.tokens, torch.stack(new, 1)], 1)[:, len(new) :]
        filled = min(state.filled + len(new), tokens.shape[1])
        seen = tokens[:, -filled:]
        if self.oracle is not None:  # the copy behind is left out: it comes after the token that chooses the action
            seen = torch.cat([self._oracle_token(x.oracle), seen], 1)
        prediction = self.readout(self.backbone.last(seen))
        return Output(prediction=prediction), ContextState(tokens=tokens, filled=filled)

    def _oracle_token(self, oracle: Tree) -> Tensor:
        """The privileged fact of each episode as one token, (B, 1, D)."""
        assert self.oracle is not None
        token: Tensor = self.oracle(oracle)
        return token[:, None]
