"""The sizes of the decoder that RATE and its relatives share with the Decision Transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rate.models.config import check_heads, check_share, check_sizes, part_of
from rate.models.step import StepConfig

if TYPE_CHECKING:
    from rate.nn.transformer import TransformerConfig


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(StepConfig):
    """A model on the transformer of nn/transformer.py."""

    layers: int = 4
    heads: int = 4
    """Query heads; heads x head_width need not equal the width."""
    kv_heads: int = 1
    """Key / value heads, shared by the query heads; equal to `heads`: plain multi-head attention."""
    head_width: int = 32
    feed_forward: int = 0
    """Inner width of the decoder's feed-forward blocks; 0 leaves them out."""
    attention_dropout: float = 0.0
    """Dropout on attention weights; it rules out the fused attention kernel on a CPU (several times slower)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, "layers", "heads", "kv_heads", "head_width")
        check_sizes(self, "feed_forward", least=0)
        check_share(self, "attention_dropout")
        check_heads(self.heads, self.kv_heads, self.head_width)

    def transformer(self) -> TransformerConfig:
        from rate.nn.transformer import TransformerConfig

        return part_of(self, TransformerConfig)
