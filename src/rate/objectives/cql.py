"""Conservative Q-learning (Kumar et al., 2020): learn the values of actions, and keep those of unseen actions low.

Discrete actions are here; `cql_continuous.py` has actions of a Box. Both take policies with a value head.
"""

from __future__ import annotations

from typing import Any

import torch

from rate.models.policy import SequencePolicy
from rate.nn.heads import ValueHead
from rate.objectives.bootstrap import Target, bootstrapped, half_squared, with_next, without_next
from rate.objectives.objective import Loss, Objective, Unroll, masked_mean
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
                head.measure: masked_mean(head.score(now.detach(), steps.action), steps.mask),
            },
            weight=steps.mask.sum(),
        )

    def after_step(self, policy: SequencePolicy[Any]) -> None:
        self.target.follow(policy, self.tau)
