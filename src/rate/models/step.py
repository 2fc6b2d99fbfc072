"""What a sequence model is given of a step: the fields that all of them share, so that a table can be fair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rate.models.config import ModelConfig, check_choice, check_share, check_sizes, part_of
from rate.nn.kinds import Clock
from rate.serial import check_types

if TYPE_CHECKING:
    from rate.nn.tokens import TokensConfig


@dataclass(frozen=True, kw_only=True)
class StepConfig(ModelConfig):
    """A model over tokens of steps; by default those of the paper, (R_t, o_t, a_t)."""

    width: int = 64
    """d: width of every token."""
    return_to_go: bool = True
    """Tell the return-to-go. In expert data it can be read as a clock, which the policy's own mistakes stop."""
    previous_action: bool = True
    """Tell the actions that were taken."""
    timesteps: int = 0
    """Steps of an episode that the clock counts; 0: no clock, as in the paper and where the horizon is open."""
    clock: Clock = "learned"
    """What is added to the tokens of a timestep: a learned row (later ones share the last), or sines and cosines."""
    dropout: float = 0.1

    def __post_init__(self) -> None:
        check_types(self, "model.")
        check_sizes(self, "width")
        check_sizes(self, "timesteps", least=0)
        check_share(self, "dropout")
        check_choice(self, "clock", Clock)

    def tokens(self) -> TokensConfig:
        from rate.nn.tokens import TokensConfig

        return part_of(self, TokensConfig, returns=self.return_to_go, actions=self.previous_action)
