"""Conservative Q-learning (Kumar et al., 2020): learn the values of actions, and keep those of unseen actions low.

Discrete actions are here; `cql_continuous.py` has actions of a Box. Both take policies with a value head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from rate.errors import ConfigError
from rate.models.policy import SequencePolicy
from rate.nn.heads import GaussianHead, ValueHead
from rate.objectives.bootstrap import Target, bootstrapped, half_squared, with_next, without_next
from rate.objectives.cql_continuous import ContinuousCql
from rate.objectives.objective import OBJECTIVES, Loss, Objective, ObjectiveConfig, Unroll, masked_mean
from rate.registry import CONFIG_CLASSES
from rate.types import Segment


class DiscreteCql(Objective):
    """The policy is the pair of Q functions; a target network follows it."""

    lookahead = 1

    def __init__(self, policy: SequencePolicy[Any], run: Unroll, *, alpha: float, discount: float, tau: float) -> None:
        super().__init__()
        self.run, self.alpha, self.discount, self.tau = run, alpha, discount, tau
        self.target = Target(policy)

    def forward(self, policy: SequencePolicy[Any], window: Segment) -> Loss:
        head = policy.head
        assert isinstance(head, ValueHead)
        steps, seen = without_next(window), with_next(window)
        prediction = self.run(policy, seen).prediction.float()
        with torch.no_grad():
            # Double Q-learning: the online values choose, the lesser of the target values judges.
            best = head.act(prediction[:, 1:], sample=False)
            judged = self.run(self.target.network, seen).prediction[:, 1:].float()
            goal = bootstrapped(steps, head.taken(judged, best).amin(-1), self.discount)
        now = prediction[:, :-1]
        taken = head.taken(now, steps.action)
        bellman = masked_mean(half_squared(taken, goal), steps.mask)
        conservative = masked_mean((head.log_sum(now) - taken).mean(-1), steps.mask)
        return Loss(
            total=bellman + self.alpha * conservative,
            parts={
                "bellman": bellman.detach(),
                "conservative": conservative.detach(),
                "q_data": masked_mean(taken.detach().mean(-1), steps.mask),
                "accuracy": masked_mean(head.accuracy(now.detach(), steps.action), steps.mask),
            },
            weight=int(steps.mask.sum()),
        )

    def after_step(self, policy: SequencePolicy[Any]) -> None:
        self.target.follow(policy, self.tau)


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
