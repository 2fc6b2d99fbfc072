"""Conservative Q-learning with actions of a Box: a soft actor-critic whose critics are kept low on unseen actions.

The policy is the actor. The critics, their targets and the temperature of the entropy belong to the objective.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from rate.models.policy import SequencePolicy
from rate.nn.heads import GaussianHead
from rate.objectives.bootstrap import Target, bootstrapped, half_squared, with_next, without_next
from rate.objectives.objective import Loss, Objective, Unroll, masked_mean
from rate.types import Segment


class Values(nn.Module):
    """Two networks on [features, action]. The features come as their share of both first layers: (..., 2 x hidden)."""

    def __init__(self, actions: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.action = nn.Linear(actions, 2 * hidden, bias=False)
        self.networks = nn.ModuleList(_network(hidden, layers) for _ in range(2))

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        """(B, T, 2 x hidden) and N actions per step (B, T, N, A) -> (B, T, N, 2)."""
        first = features[:, :, None] + self.action(actions)
        pairs = zip(self.networks, first.chunk(2, -1), strict=True)
        return torch.cat([network(x) for network, x in pairs], -1).float()


def _network(hidden: int, layers: int) -> nn.Sequential:
    """What follows the first of `layers` linear maps."""
    inner = [module for _ in range(layers - 1) for module in (nn.ReLU(), nn.Linear(hidden, hidden))]
    return nn.Sequential(*inner, nn.ReLU(), nn.Linear(hidden, 1))


class Critic(nn.Module):
    """A network like the policy's, with weights of its own, and two Q functions on top of it."""

    def __init__(self, policy: SequencePolicy[Any], actions: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.body = copy.deepcopy(policy)
        self.body.readout = nn.Linear(policy.readout.in_features, 2 * hidden)
        self.values = Values(actions, hidden, layers)


class ContinuousCql(Objective):
    """Actor, critics and temperature have a loss each; no gradient goes from one to another."""

    lookahead = 1

    def __init__(
        self,
        policy: SequencePolicy[Any],
        run: Unroll,
        *,
        alpha: float,
        discount: float,
        tau: float,
        samples: int,
        hidden: int,
        layers: int,
    ) -> None:
        super().__init__()
        assert isinstance(policy.head, GaussianHead)
        self.run, self.alpha, self.discount, self.tau, self.samples = run, alpha, discount, tau, samples
        self.actions = policy.head.components
        self.critic = Critic(policy, self.actions, hidden, layers)
        self.target = Target(self.critic)
        self.log_temperature = nn.Parameter(torch.zeros(()))

    def forward(self, policy: SequencePolicy[Any], window: Segment) -> Loss:
        head = policy.head
        assert isinstance(head, GaussianHead)
        self.critic.train(policy.training)
        steps, seen = without_next(window), with_next(window)
        prediction = self.run(policy, seen).prediction.float()
        drawn, log_prob = head.sample_with_log_prob(prediction, self.samples)
        features = self.run(self.critic.body, seen).prediction[:, :-1]
        taken = self.critic.values(features, head.to_unit(steps.action)[:, :, None])[:, :, 0]
        excess = self._log_sum(features, drawn.detach(), log_prob.detach()) - taken
        one = log_prob[:, :-1, 0]
        means = {
            "bellman": masked_mean(half_squared(taken, self._goal(seen, drawn.detach())), steps.mask),
            "conservative": masked_mean(excess.mean(-1), steps.mask),
            "actor": masked_mean(self._actor(features.detach(), drawn[:, :-1, :1], one), steps.mask),
        }
        # The temperature rises while the entropy is below minus the number of components, and falls above it.
        surplus = masked_mean(-one.detach() + self.actions, steps.mask)
        total = means["bellman"] + self.alpha * means["conservative"] + means["actor"] + self.log_temperature * surplus
        score = head.score(prediction[:, :-1].detach(), steps.action)
        return Loss(
            total=total,
            parts={
                **{name: mean.detach() for name, mean in means.items()},
                "q_data": masked_mean(taken.detach().mean(-1), steps.mask),
                "temperature": self.log_temperature.detach().exp(),
                head.measure: masked_mean(score, steps.mask),
            },
            weight=steps.mask.sum(),
        )

    @torch.no_grad()
    def _goal(self, seen: Segment, drawn: Tensor) -> Tensor:
        """(B, T): the lesser of the target values judges one action of the policy; its entropy earns nothing."""
        features = self.run(self.target.network.body, seen).prediction[:, 1:]
        judged = self.target.network.values(features, drawn[:, 1:, :1])[:, :, 0]
        return bootstrapped(without_next(seen), judged.amin(-1), self.discount)

    def _log_sum(self, features: Tensor, drawn: Tensor, log_prob: Tensor) -> Tensor:
        """(B, T, 2): log of the integral of exp(Q) over the box, from samples that are weighed by their density.

        A third of them is uniform, a third from the policy at the step, and a third from the policy one step later.
        """
        uniform = 2 * torch.rand_like(drawn[:, 1:]) - 1
        flat = torch.full_like(log_prob[:, 1:], -self.actions * math.log(2))
        asked = torch.cat([uniform, drawn[:, :-1], drawn[:, 1:]], 2)
        density = torch.cat([flat, log_prob[:, :-1], log_prob[:, 1:]], 2)
        weighed = self.critic.values(features, asked) - density[..., None]
        log_sum: Tensor = weighed.logsumexp(2) - math.log(3 * self.samples)
        return log_sum

    def _actor(self, features: Tensor, drawn: Tensor, log_prob: Tensor) -> Tensor:
        """(B, T): one action per step, worth much and spread wide; the critics are held fixed."""
        fixed = {name: parameter.detach() for name, parameter in self.critic.values.named_parameters()}
        values: Tensor = functional_call(self.critic.values, fixed, (features, drawn))[:, :, 0]
        return self.log_temperature.detach().exp() * log_prob - values.amin(-1)

    def after_step(self, policy: SequencePolicy[Any]) -> None:
        self.target.follow(self.critic, self.tau)
