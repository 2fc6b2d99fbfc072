"""LSDT, the Long-Short Decision Transformer: a sliding window over blocks of attention and dynamic convolution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rate.errors import ConfigError
from rate.models.config import MODELS, check_context, check_share, check_sizes, part_of
from rate.models.step import StepConfig
from rate.registry import CONFIG_CLASSES
from rate.types import Spaces

if TYPE_CHECKING:
    from rate.models.policies.context import ContextPolicy


@CONFIG_CLASSES.register("LsdtConfig")
@dataclass(frozen=True, kw_only=True)
class LsdtConfig(StepConfig):
    """Attention for what is far, convolution for what is near."""

    name: str = "lsdt"
    context: int = 30
    """K: steps of the window."""
    layers: int = 2
    heads: int = 2
    """Attention heads; they share the channels that the convolution leaves."""
    conv_width: int = 32
    """c: channels of the convolution; the attention has the other d - c."""
    kernel: int = 6
    """Tokens that the convolution sees: the current one and those just before it."""
    kernel_dropout: float = 0.2
    """Dropout on the weights of the convolution."""

    def __post_init__(self) -> None:
        from rate.nn.long_short import CHANNELS

        super().__post_init__()
        check_sizes(self, "context", "layers", "heads", "conv_width")
        check_sizes(self, "kernel", least=2)  # the softmax over a single tap would leave nothing to learn
        check_share(self, "kernel_dropout")
        attended = self.width - self.conv_width
        if self.conv_width % CHANNELS:
            raise ConfigError(f"model.conv_width = {self.conv_width} is not a multiple of {CHANNELS}")
        if attended < 1 or attended % (2 * self.heads):
            raise ConfigError(
                f"model.width - model.conv_width = {attended} must be a positive multiple of {2 * self.heads}: "
                "model.heads share these channels, and rotary positions turn pairs"
            )

    def check_window(self, window: int) -> None:
        check_context(self.context, window)

    def build(self, spaces: Spaces) -> ContextPolicy:
        from rate.models.policies.context import ContextPolicy
        from rate.nn.long_short import LongShort, LongShortConfig

        backbone = partial(LongShort, part_of(self, LongShortConfig))
        return ContextPolicy(spaces, self.tokens(), self.context, backbone)


@MODELS.register("lsdt")
def lsdt_preset(window: int, **fields: Any) -> LsdtConfig:
    """Long-Short Decision Transformer: attention and convolution over one window, nothing carried."""
    return LsdtConfig(**{"context": window, **fields})
