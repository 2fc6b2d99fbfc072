"""Recurrent baselines as presets of one configuration: BC-LSTM, CQL-LSTM, Decision LSTM and Decision GRU.

They differ in the cell, in what a step tells, and in the head; the objective is chosen by the recipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rate.models.config import MODELS, check_choice, check_sizes
from rate.models.step import StepConfig
from rate.nn.kinds import Cell, HeadKind
from rate.registry import CONFIG_CLASSES
from rate.types import Spaces

if TYPE_CHECKING:
    from rate.models.policies.recurrent import RecurrentPolicy


@CONFIG_CLASSES.register("RnnConfig")
@dataclass(frozen=True, kw_only=True)
class RnnConfig(StepConfig):
    """A recurrent network over the steps of an episode."""

    name: str = "bc-lstm"
    cell: Cell = "lstm"
    layers: int = 1
    hidden: int = 128
    """Width of the recurrent state."""
    return_to_go: bool = False
    previous_action: bool = False
    separate_tokens: bool = False
    """Feed what is told of a step one after the other (three updates), and not as one sum."""
    forget_bias: float = 1.0
    """Bias of the gate that keeps the state, at initialisation."""
    head: HeadKind = "imitation"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, "layers", "hidden")
        check_choice(self, "cell", Cell)
        check_choice(self, "head", HeadKind)

    def build(self, spaces: Spaces) -> RecurrentPolicy:
        from rate.models.policies.recurrent import RecurrentPolicy
        from rate.nn.lstm import Rnn
        from rate.nn.tokens import Tokens

        tokens = Tokens(spaces, self.tokens())
        backbone = Rnn(self.cell, self.width, self.hidden, self.layers, self.dropout, self.forget_bias)
        return RecurrentPolicy(spaces, tokens, backbone, separate=self.separate_tokens, head=self.head)


TRIPLES: dict[str, Any] = {"return_to_go": True, "previous_action": True, "separate_tokens": True}
"""The tokens of a Decision Transformer."""


def _preset(name: str, summary: str, base: dict[str, Any]) -> None:
    def preset(window: int, **fields: Any) -> RnnConfig:
        return RnnConfig(**{"name": name, **base, **fields})

    preset.__doc__ = summary
    MODELS.add(name, preset)


_preset("bc-lstm", "Behaviour cloning with an LSTM.", {})
_preset("cql-lstm", "Conservative Q-learning with an LSTM.", {"head": "value"})
_preset("dlstm", "Decision LSTM: the tokens of a Decision Transformer, read by an LSTM.", TRIPLES)
_preset("dgru", "Decision GRU: the tokens of a Decision Transformer, read by a GRU.", {"cell": "gru", **TRIPLES})
