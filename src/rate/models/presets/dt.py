"""DT, the Decision Transformer: a causal transformer over the last steps. OracleDT is told the answer beforehand.

OracleDT is an upper bound: what the same window reaches when nothing has to be remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rate.errors import ConfigError
from rate.models.config import MODELS, check_context, check_sizes
from rate.models.decoder import DecoderConfig
from rate.registry import CONFIG_CLASSES
from rate.types import Spaces

if TYPE_CHECKING:
    from rate.models.policies.context import ContextPolicy


@CONFIG_CLASSES.register("DtConfig")
@dataclass(frozen=True, kw_only=True)
class DtConfig(DecoderConfig):
    """A window that slides."""

    name: str = "dt"
    context: int = 30
    """K: steps of the window."""
    feed_forward: int = 64
    """Inner width of the feed-forward blocks; 0 leaves them out."""
    oracle: bool = False
    """Tell a privileged fact of the episode (data.oracle) before and behind the window."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, "context")

    def check_window(self, window: int) -> None:
        check_context(self.context, window)

    def build(self, spaces: Spaces) -> ContextPolicy:
        from rate.models.policies.context import ContextPolicy
        from rate.nn.causal import CausalTransformer

        if self.oracle and spaces.oracle is None:
            needs = "is told a privileged fact of each episode"
            raise ConfigError(f"{self.name} {needs}; set data.oracle to one that the environment declares")
        return ContextPolicy(
            spaces,
            self.tokens(),
            self.context,
            partial(CausalTransformer, self.transformer()),
            oracle=spaces.oracle if self.oracle else None,
        )


@MODELS.register("dt")
def dt_preset(window: int, **fields: Any) -> DtConfig:
    """Decision Transformer: one window of returns, observations and actions, nothing carried."""
    return DtConfig(**{"context": window, **fields})


@MODELS.register("oracle-dt")
def oracle_dt_preset(window: int, **fields: Any) -> DtConfig:
    """Decision Transformer that is told the answer, an upper bound."""
    return DtConfig(**{"name": "oracle-dt", "context": window, "oracle": True, **fields})
