"""Decision Mamba: the tokens of a Decision Transformer through a selective state space, after Ota (2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rate.errors import ConfigError
from rate.models.config import MODELS, check_sizes
from rate.models.step import StepConfig
from rate.registry import CONFIG_CLASSES
from rate.types import Spaces

if TYPE_CHECKING:
    from torch import nn

    from rate.models.policies.recurrent import RecurrentPolicy


@CONFIG_CLASSES.register("MambaConfig")
@dataclass(frozen=True, kw_only=True)
class MambaConfig(StepConfig):
    """Decision Mamba."""

    name: str = "dmamba"
    layers: int = 2
    state: int = 16
    """N: numbers that each inner channel carries."""
    expand: int = 2
    """Inner channels per channel of a token."""
    conv: int = 4
    """Tokens that the convolution before the scan sees."""
    feed_forward: int = 256
    """Inner width of the feed-forward networks; 0 leaves them out."""
    decay: float = 1.0
    """The decay rates start at 1 .. N times this; small ones let what is written last."""
    steps: tuple[float, float] = (1e-3, 1e-1)
    """Step sizes at initialisation, least and most: how much of a token is written. A step times a rate decays."""
    reference_init: bool = False
    """Initialise as the public code does: step sizes near 0.7, a memory of a token or two. For comparison only."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, "layers", "state", "expand", "conv")
        if self.feed_forward < 0:
            raise ConfigError(f"model.feed_forward is {self.feed_forward}; it must be at least 0 (0 leaves it out)")
        if not 0 < self.decay < math.inf:
            raise ConfigError(f"model.decay is {self.decay}; it must be positive and finite")
        if len(self.steps) != 2 or not 0 < self.steps[0] <= self.steps[1] < math.inf:
            raise ConfigError(f"model.steps is {self.steps}; it must be two positive numbers, the smaller first")

    def build(self, spaces: Spaces) -> RecurrentPolicy:
        from rate.models.policies.recurrent import RecurrentPolicy
        from rate.nn.ssm import Mamba, Mixer
        from rate.nn.tokens import Tokens

        mixer = partial(Mixer, state=self.state, expand=self.expand, conv=self.conv, decay=self.decay, steps=self.steps)
        backbone = Mamba(
            self.width, layers=self.layers, mixer=mixer, feed_forward=self.feed_forward, dropout=self.dropout
        )
        policy = RecurrentPolicy(spaces, Tokens(spaces, self.tokens()), backbone, separate=True)
        return policy.apply(reference_initialise) if self.reference_init else policy


def reference_initialise(module: nn.Module) -> None:
    """A pass over all linear maps that also wipes out the chosen biases of the step sizes."""
    from torch import nn

    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


@MODELS.register("dmamba")
def dmamba_preset(window: int, **fields: Any) -> MambaConfig:
    """Decision Mamba: a selective state space model, its state carried through the episode."""
    return MambaConfig(**fields)
