"""The tokens of a step, section 3 of the paper: return-to-go, observation and action, each of width D.

All of it takes any number of leading axes, so the same module serves a segment (B, T, ...) and a step (B, ...).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from rate.nn.dropout import Dropout
from rate.nn.encoders import EncoderConfig, build_encoder
from rate.nn.kinds import Clock
from rate.types import Inputs, Segment, Spaces


@dataclass(frozen=True, kw_only=True)
class TokensConfig:
    """Which tokens a step has, in the order (R_t, o_t, a_t), and what is added to them."""

    width: int
    dropout: float
    returns: bool = True
    actions: bool = True
    timesteps: int = 0
    """Steps that the clock counts; 0: there is no clock, and nothing tells the place in the episode."""
    clock: Clock = "learned"
    encoder: EncoderConfig = field(default_factory=EncoderConfig)

    @property
    def per_step(self) -> int:
        """Tokens of a step."""
        return self.returns + 1 + self.actions

    @property
    def observed(self) -> int:
        """The place of o_t among them, at which the action is predicted."""
        return int(self.returns)

    @property
    def unknown(self) -> int:
        """How many of them are not known when the action is chosen: a_t, if there is one."""
        return int(self.actions)


class Tokens(nn.Module):
    """Makes the tokens of steps; with a clock, each has the place in the episode added to it."""

    def __init__(self, spaces: Spaces, config: TokensConfig) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.returns = nn.Linear(1, width) if config.returns else None
        self.observation = build_encoder(spaces.observation, width, config.encoder)
        taken = replace(config.encoder, name="classic")  # images are seen, not done
        self.actions = nn.Sequential(build_encoder(spaces.action, width, taken), nn.Tanh()) if config.actions else None
        self.timesteps = CLOCKS[config.clock](config.timesteps, width) if config.timesteps else None
        self.dropout = Dropout(config.dropout)

    def prompt(self, x: Segment | Inputs) -> list[Tensor]:
        """What is known before the action is chosen: [R_t, o_t], each (..., D)."""
        tokens = [self.observation(x.observation)]
        if self.returns is not None:
            tokens.insert(0, self.returns(x.return_to_go[..., None]))
        return [self._placed(token, x.timestep) for token in tokens]

    def previous(self, x: Inputs) -> list[Tensor]:
        """The action before this step as a token, [a_{t-1}] with (B, D); empty where there is none."""
        if self.actions is None or x.previous_action is None:
            return []
        return [self.action(x.previous_action, x.timestep - 1)]

    def action(self, action: Tensor, timestep: Tensor | int) -> Tensor:
        """The token of the action that was taken at a timestep, (..., D)."""
        assert self.actions is not None
        return self._placed(self.actions(action), timestep)

    def _placed(self, token: Tensor, timestep: Tensor | int) -> Tensor:
        if self.timesteps is None:
            return token
        placed: Tensor = token + self.timesteps(torch.as_tensor(timestep, device=token.device))
        return placed

    def forward(self, segment: Segment) -> Tensor:
        """All tokens of a segment, a_t behind o_t: (B, per_step x T, D)."""
        parts = self.prompt(segment)
        if self.actions is not None:
            parts.append(self.action(segment.action, segment.timestep))
        tokens: Tensor = self.dropout(torch.stack(parts, 2).flatten(1, 2))
        return tokens


class LearnedClock(nn.Embedding):
    """A learned row for each timestep, as in the Decision Transformer; later ones share the last row."""

    def forward(self, timestep: Tensor) -> Tensor:
        return super().forward(timestep.clamp(max=self.num_embeddings - 1))


class SinusoidalClock(nn.Module):
    """Sines and cosines of the timestep, with periods from 4 steps to 4 times what it counts; it goes on beyond."""

    frequency: Tensor

    def __init__(self, timesteps: int, width: int) -> None:
        super().__init__()
        share = torch.linspace(0, 1, width // 2 + width % 2, dtype=torch.float64)
        frequency = 2 * torch.pi / (4 * float(timesteps) ** share)
        self.register_buffer("frequency", frequency, persistent=False)
        self.width = width

    def forward(self, timestep: Tensor) -> Tensor:
        angle = timestep[..., None] * self.frequency
        return torch.cat([angle.sin(), angle.cos()], -1)[..., : self.width].float()


CLOCKS: dict[Clock, type[LearnedClock | SinusoidalClock]] = {"learned": LearnedClock, "sinusoidal": SinusoidalClock}
