"""DT, the Decision Transformer: a causal transformer over the last steps. OracleDT is told the answer beforehand.

OracleDT is an upper bound: what the same window reaches when nothing has to be remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from rate.errors import ConfigError
from rate.models.policy import CONFIG_CLASSES, MODELS, ModelConfig, check_heads, check_share, check_sizes
from rate.models.window import WindowPolicy, check_context
from rate.nn.causal import CausalTransformer
from rate.nn.transformer import TransformerConfig
from rate.types import Spaces


@CONFIG_CLASSES.register("DtConfig")
@dataclass(frozen=True, kw_only=True)
class DtConfig(ModelConfig):
    """A window that slides."""

    name: str = "dt"
    context: int = 30
    """K: steps of the window."""
    layers: int = 4
    width: int = 64
    """d: width of every token."""
    heads: int = 4
    """Query heads; heads x head_width need not equal the width."""
    kv_heads: int = 1
    """Key / value heads, shared by the query heads; equal to `heads`: plain multi-head attention."""
    head_width: int = 32
    feed_forward: int = 64
    """Inner width of the feed-forward blocks; 0 leaves them out."""
    dropout: float = 0.1
    attention_dropout: float = 0.0
    """Dropout on attention weights; it rules out the fused attention kernel on a CPU (several times slower)."""
    timesteps: int = 0
    """Rows of a learned table of places in the episode, added to the tokens; later places share the last row."""
    oracle: bool = False
    """Tell a privileged fact of the episode (data.oracle) before and behind the window."""

    def __post_init__(self) -> None:
        check_sizes(self, "context", "layers", "width", "heads", "kv_heads", "head_width")
        check_sizes(self, "feed_forward", "timesteps", least=0)
        check_share(self, "dropout", "attention_dropout")
        check_heads(self.heads, self.kv_heads, self.head_width)

    def check_window(self, window: int) -> None:
        check_context(self.context, window)

    def build(self, spaces: Spaces) -> WindowPolicy:
        if self.oracle and spaces.oracle is None:
            told = "is told a privileged fact of each episode"
            raise ConfigError(f"{self.name} {told}; set data.oracle to one that the environment declares")
        return WindowPolicy(
            spaces,
            self.width,
            self.context,
            partial(CausalTransformer, self._transformer()),
            dropout=self.dropout,
            timesteps=self.timesteps,
            oracle=spaces.oracle if self.oracle else None,
        )

    def _transformer(self) -> TransformerConfig:
        return TransformerConfig(
            layers=self.layers,
            width=self.width,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_width=self.head_width,
            feed_forward=self.feed_forward,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
        )


@MODELS.register("dt")
def dt_preset(window: int, **fields: Any) -> DtConfig:
    """One window, nothing carried."""
    return DtConfig(**{"context": window, **fields})


@MODELS.register("oracle-dt")
def oracle_dt_preset(window: int, **fields: Any) -> DtConfig:
    """A window and the answer."""
    return DtConfig(**{"name": "oracle-dt", "context": window, "oracle": True, **fields})
