"""The tokens of a step, section 3 of the paper: return-to-go, observation and action, each of width D.

All of it takes any number of leading axes, so the same module serves a segment (B, T, ...) and a step (B, ...).
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from rate.nn.encoders import EncoderConfig, build_encoder
from rate.types import Inputs, Segment, Spaces


class Tokens(nn.Module):
    """The tokens of a step in the order (R_t, o_t, a_t), section 3 of the paper; returns and actions may be left out.

    With `timesteps` a learned row for the place in the episode is added to each; later places share the last row.
    """

    def __init__(
        self,
        spaces: Spaces,
        width: int,
        dropout: float,
        *,
        returns: bool = True,
        actions: bool = True,
        timesteps: int = 0,
        encoder: EncoderConfig | None = None,
    ) -> None:
        super().__init__()
        self.returns = nn.Linear(1, width) if returns else None
        encoder = encoder or EncoderConfig()
        self.observation = build_encoder(spaces.observation, width, encoder)
        taken = replace(encoder, name="classic")  # images are seen, not done
        self.actions = nn.Sequential(build_encoder(spaces.action, width, taken), nn.Tanh()) if actions else None
        self.timesteps = nn.Embedding(timesteps, width) if timesteps else None
        self.dropout = nn.Dropout(dropout)

    def prompt(self, x: Segment | Inputs) -> list[Tensor]:
        """What is known before the action is chosen: [R_t, o_t], each (..., D)."""
        tokens = [self.observation(x.observation)]
        if self.returns is not None:
            tokens.insert(0, self.returns(x.return_to_go[..., None]))
        return [self._placed(token, x.timestep) for token in tokens]

    def action(self, action: Tensor, timestep: Tensor | int) -> Tensor:
        """The token of the action that was taken at a timestep, (..., D)."""
        assert self.actions is not None
        return self._placed(self.actions(action), timestep)

    def _placed(self, token: Tensor, timestep: Tensor | int) -> Tensor:
        if self.timesteps is None:
            return token
        place = torch.as_tensor(timestep, device=token.device).clamp(max=self.timesteps.num_embeddings - 1)
        placed: Tensor = token + self.timesteps(place)
        return placed

    def forward(self, segment: Segment) -> Tensor:
        """All tokens of a segment, a_t behind o_t: (B, 3T, D)."""
        triple = torch.stack([*self.prompt(segment), self.action(segment.action, segment.timestep)], 2)
        tokens: Tensor = self.dropout(triple.flatten(1, 2))
        return tokens
