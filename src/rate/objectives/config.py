"""What the objectives weigh, and their registry; what they compute is imported when one is built.

So to name and to check an objective takes no torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rate.errors import ConfigError
from rate.registry import CONFIG_CLASSES, Registry

if TYPE_CHECKING:
    from rate.models.policy import SequencePolicy
    from rate.objectives.objective import Objective, Unroll


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig(ABC):
    """What an objective weighs."""

    name: str
    """The name under which the objective is registered."""

    @abstractmethod
    def build(self, policy: SequencePolicy[Any], run: Unroll) -> Objective:
        """The objective for one policy; ConfigError where it cannot train it."""


OBJECTIVES: Registry[type[ObjectiveConfig]] = Registry("objective", "rate list objectives")
"""Name to configuration class; every field has a default."""


@OBJECTIVES.register("behaviour-cloning")
@CONFIG_CLASSES.register("BehaviourCloningConfig")
@dataclass(frozen=True, kw_only=True)
class BehaviourCloningConfig(ObjectiveConfig):
    """Behaviour cloning: make the logged action likely. There is nothing to weigh."""

    name: str = "behaviour-cloning"

    def build(self, policy: SequencePolicy[Any], run: Unroll) -> Objective:
        from rate.objectives.behaviour_cloning import BehaviourCloning

        return BehaviourCloning(run)


@OBJECTIVES.register("cql")
@CONFIG_CLASSES.register("CqlConfig")
@dataclass(frozen=True, kw_only=True)
class CqlConfig(ObjectiveConfig):
    """Conservative Q-learning; the fields from `samples` on are for continuous actions."""

    name: str = "cql"
    alpha: float = 1.0
    """Weight of the conservative term; the larger, the nearer to behaviour cloning."""
    discount: float = 0.999
    """Of rewards, per step. At 0.99 a reward 900 steps ahead is worth 1e-4, less than the noise of the values."""
    tau: float = 0.005
    """Share of the way that the target network moves at each optimiser step."""
    samples: int = 10
    """Actions per source (uniform, policy, policy one step later) in the conservative term."""
    critic_hidden: int = 128
    """Width of the hidden layers of the critics, behind their own copy of the policy's network."""
    critic_layers: int = 2

    def __post_init__(self) -> None:
        for field in ("samples", "critic_hidden", "critic_layers"):
            self._check(field, getattr(self, field) >= 1, "at least 1")
        self._check("alpha", self.alpha >= 0, "at least 0")
        self._check("discount", 0 <= self.discount <= 1, "between 0 and 1")
        self._check("tau", 0 < self.tau <= 1, "above 0 and at most 1")

    def _check(self, field: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise ConfigError(f"objective.{field} is {getattr(self, field)}; it must be {wanted}")

    def build(self, policy: SequencePolicy[Any], run: Unroll) -> Objective:
        from rate.nn.heads import GaussianHead, ValueHead
        from rate.objectives.cql import DiscreteCql
        from rate.objectives.cql_continuous import ContinuousCql

        if isinstance(policy.head, ValueHead):
            return DiscreteCql(policy, run, alpha=self.alpha, discount=self.discount, tau=self.tau)
        if isinstance(policy.head, GaussianHead):
            return ContinuousCql(
                policy,
                run,
                alpha=self.alpha,
                discount=self.discount,
                tau=self.tau,
                samples=self.samples,
                hidden=self.critic_hidden,
                layers=self.critic_layers,
            )
        raise ConfigError("objective cql needs a model with model.head = value, such as cql-mlp or cql-lstm")
