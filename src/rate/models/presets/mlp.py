"""Reactive baselines: BC-MLP and CQL-MLP see the current step and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rate.models.config import MODELS, check_choice, check_sizes
from rate.models.step import StepConfig
from rate.nn.kinds import HeadKind
from rate.registry import CONFIG_CLASSES
from rate.types import Spaces

if TYPE_CHECKING:
    from rate.models.policies.recurrent import RecurrentPolicy


@CONFIG_CLASSES.register("MlpConfig")
@dataclass(frozen=True, kw_only=True)
class MlpConfig(StepConfig):
    """A network of hidden layers over the current step."""

    name: str = "bc-mlp"
    layers: int = 2
    hidden: int = 128
    """Width of the hidden layers."""
    return_to_go: bool = False
    previous_action: bool = False
    head: HeadKind = "imitation"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, "layers", "hidden")
        check_choice(self, "head", HeadKind)

    def build(self, spaces: Spaces) -> RecurrentPolicy:
        from rate.models.policies.recurrent import RecurrentPolicy
        from rate.nn.backbone import Mlp
        from rate.nn.tokens import Tokens

        tokens = Tokens(spaces, self.tokens())
        backbone = Mlp(self.width, (self.hidden,) * self.layers, self.dropout)
        return RecurrentPolicy(spaces, tokens, backbone, separate=False, head=self.head)


@MODELS.register("bc-mlp")
def bc_mlp_preset(window: int, **fields: Any) -> MlpConfig:
    """Behaviour cloning from the observation alone."""
    return MlpConfig(**fields)


@MODELS.register("cql-mlp")
def cql_mlp_preset(window: int, **fields: Any) -> MlpConfig:
    """Conservative Q-learning from the observation alone."""
    return MlpConfig(**{"name": "cql-mlp", "head": "value", **fields})
