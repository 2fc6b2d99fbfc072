"""Conservative Q-learning with actions of a Box: losses that stay apart, no leak, and that it finds what pays."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from gymnasium import spaces as gs
from torch import Tensor, nn

from rate.models import unroll
from rate.nn.heads import GaussianHead
from rate.objectives import BehaviourCloning, CqlConfig
from rate.objectives.cql_continuous import ContinuousCql, Values
from rate.types import Segment
from unit.objectives.small import (
    MODEL_NAMES,
    Policy,
    fit,
    gradients,
    policy_of,
    random_window,
    weights,
    window_of,
    with_garbage,
)

BOX = gs.Box(-1, 1, (2,))
each_model = pytest.mark.parametrize("name", MODEL_NAMES)


def cql_of(policy: Policy, **fields: Any) -> ContinuousCql:
    objective = CqlConfig(**{"samples": 3, "critic_hidden": 16, **fields}).build(policy, unroll)
    assert isinstance(objective, ContinuousCql)
    return objective


def loss_of(objective: ContinuousCql, policy: Policy, window: Segment, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return objective(policy, window)


# What is learnt.


def mostly_low() -> Segment:
    """One step in a box from 0 to 10: actions lie around 3, and the few of 6 or more earn most."""
    torch.manual_seed(0)
    action = (3 + 2 * torch.randn(60)).clamp(0.2, 9.8)
    reward = 3 * torch.exp(-((action - 7) / 2).square())
    return window_of([[0, 1]] * 60, action[:, None, None], reward[:, None], [[True]] * 60)


def centre(policy: Policy, window: Segment) -> float:
    with torch.no_grad():
        prediction = unroll(policy.eval(), window).prediction[:1, 0]
    return float(policy.head.act(prediction, sample=False))


def test_it_finds_the_region_that_pays_and_stays_inside_of_the_data() -> None:
    window, space = mostly_low(), gs.Box(0, 10, (1,))
    policy, cloned = (policy_of("cql-mlp", space) for _ in range(2))
    fit(policy, cql_of(policy, alpha=0.1), window, 80, 0.02)
    fit(cloned, BehaviourCloning(), window, 60, 0.02)
    assert 5.2 < centre(policy, window) < window.action.max()
    assert centre(cloned, window) < 4


def test_unseen_actions_are_worth_less_than_those_of_the_data() -> None:
    """Without a reward, the conservative term alone shapes the values."""
    window = window_of([[0, 1]] * 20, torch.full((20, 1, 1), -0.5), [[0.0]] * 20, [[True]] * 20)
    policy = policy_of("cql-mlp", gs.Box(-1, 1, (1,)))
    objective = cql_of(policy, alpha=1.0)
    fit(policy, objective, window, 60)
    with torch.no_grad():
        features = unroll(objective.critic.body, window).prediction[:1, :1]
        values = objective.critic.values(features, torch.tensor([[[[-0.5], [0.3], [0.9]]]])).mean(-1)[0, 0]
    assert values[0] > values[1] + 0.2
    assert values[1] > values[2]


# Losses.


@each_model
def test_every_loss_trains_its_own_part(name: str) -> None:
    policy = policy_of(name, BOX)
    objective, window = cql_of(policy), random_window(policy, [3, 4], 4)
    parts = {"policy": policy, "objective": objective}
    reached = set(gradients(loss_of(objective, policy, window).total, parts))
    trained = {f"{part}.{n}" for part, module in parts.items() for n, p in module.named_parameters() if p.requires_grad}
    assert reached == trained
    assert {n.split(".")[1] for n in trained if n.startswith("objective")} == {"critic", "log_temperature"}


@pytest.mark.parametrize("sign", [1, -1])
def test_no_gradient_goes_from_one_to_another(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the loss of the actor the policy has no gradient, and the critics have the one they had."""
    policy = policy_of("cql-lstm", BOX)
    objective, window = cql_of(policy), random_window(policy, [3, 4], 4)
    parts = {"policy": policy, "objective": objective}
    both = gradients(loss_of(objective, policy, window).total, parts)
    actor = objective._actor
    if sign == 1:
        monkeypatch.setattr(objective, "_actor", lambda *given: torch.zeros_like(given[2]).detach())
        alone = gradients(loss_of(objective, policy, window).total, parts)
        assert not any(name.startswith("policy") for name in alone)
    else:
        monkeypatch.setattr(objective, "_actor", lambda *given: -actor(*given))
        alone = gradients(loss_of(objective, policy, window).total, parts)
        mine = {name: -gradient for name, gradient in alone.items() if name.startswith("policy")}
        torch.testing.assert_close(mine, {name: both[name] for name in mine})
    critics = {name: gradient for name, gradient in both.items() if name.startswith("objective")}
    torch.testing.assert_close({name: alone[name] for name in critics}, critics)


class Known(nn.Module):
    """Values that can be integrated: Q(s, a) = slope x sum of the action, in both functions."""

    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        return (self.slope * actions.sum(-1, keepdim=True)).repeat(1, 1, 1, 2)


@pytest.mark.parametrize("slope", [0.0, 1.5])
def test_the_conservative_term_is_the_log_of_an_integral(slope: float) -> None:
    """Over the unit box the integral of exp(s (x + y)) is (2 sinh(s) / s) squared; a wrong weight would miss it."""
    policy = policy_of("cql-mlp", BOX)
    objective = cql_of(policy, samples=4000)
    objective.critic.values = Known(slope)  # type: ignore[assignment]
    head, prediction = policy.head, torch.tensor([0.4, -0.2, -0.3, 0.2]).expand(1, 3, 4)
    assert isinstance(head, GaussianHead)
    torch.manual_seed(0)
    drawn = head.sample_with_log_prob(prediction, 4000)
    exact = 2 * math.log(2 * math.sinh(slope) / slope if slope else 2)
    torch.testing.assert_close(
        objective._log_sum(torch.zeros(1, 2, 4), *drawn), torch.full((1, 2, 2), exact), rtol=0, atol=0.1
    )


@pytest.mark.parametrize(("terminated", "expected"), [(True, 0.5), (False, 0.5 + 0.9 * 0.6)])
def test_targets_in_numbers(terminated: bool, expected: float) -> None:
    policy = policy_of("cql-mlp", BOX)
    objective = cql_of(policy, discount=0.9)
    objective.target.network.values = Known(1.0)  # type: ignore[assignment]
    window = window_of([[0, 1]], torch.zeros(1, 1, 2), [[0.5]], [[terminated]])
    drawn = torch.tensor([[[[0.9, 0.9]], [[0.4, 0.2]]]])  # at the first and at the next observation
    torch.testing.assert_close(objective._goal(window, drawn), torch.tensor([[expected]]))


def test_values_are_networks_of_feature_and_action() -> None:
    """The sum of two linear maps is the linear map of both, side by side."""
    torch.manual_seed(0)
    values = Values(2, hidden=5, layers=2)
    body, features, actions = nn.Linear(3, 10), torch.randn(1, 1, 3), torch.randn(1, 1, 4, 2)
    found = values(body(features), actions)
    both = torch.cat([features[:, :, None].expand(-1, -1, 4, -1), actions], -1)
    first = both @ torch.cat([body.weight, values.action.weight], 1).T + body.bias
    expected = [network(x) for network, x in zip(values.networks, first.chunk(2, -1), strict=True)]
    torch.testing.assert_close(found, torch.cat(expected, -1))
    assert found.shape == (1, 1, 4, 2)


# Padding, state, validation.


@each_model
def test_padding_changes_nothing(name: str) -> None:
    policy, lengths = policy_of(name, BOX, previous_action=True), [1, 2, 4]
    objective, window = cql_of(policy), random_window(policy, lengths, 4)
    loss = loss_of(objective, policy, window)
    spoilt = loss_of(objective, policy, with_garbage(window, lengths))
    torch.testing.assert_close(spoilt.total, loss.total)
    torch.testing.assert_close(dict(spoilt.parts), dict(loss.parts))
    assert spoilt.weight == loss.weight == 7
    parts = {"policy": policy, "objective": objective}
    found = [gradients(one.total, parts) for one in (loss, spoilt)]
    torch.testing.assert_close(found[1], found[0])
    moved = loss_of(objective, policy, replace(window, reward=window.reward + 1))
    assert not torch.isclose(moved.total, loss.total)


def test_critics_follow_the_mode_of_the_policy_and_targets_do_not() -> None:
    policy = policy_of("cql-mlp", BOX, dropout=0.5)
    objective, window = cql_of(policy), random_window(policy, [3, 4], 4)
    for mode in (True, False):
        policy.train(mode)
        objective(policy, window)
        assert objective.critic.body.training is mode
        assert not any(module.training for module in objective.target.network.modules())


def test_validation_changes_nothing() -> None:
    policy = policy_of("cql-lstm", BOX).eval()
    objective, window = cql_of(policy), random_window(policy, [3, 4], 4)
    before = weights(objective)
    with torch.no_grad():
        loss = objective(policy, window)
    assert loss.total.isfinite()
    torch.testing.assert_close(weights(objective), before, rtol=0, atol=0)


def test_the_target_follows_the_critics_exactly() -> None:
    policy = policy_of("cql-mlp", BOX)
    objective, window = cql_of(policy, tau=0.25), random_window(policy, [3, 4], 4)
    first = weights(objective.target.network)
    fit(policy, objective, window, 1, 0.1)
    moved = weights(objective.critic)
    expected = {name: value + 0.25 * (moved[name] - value) for name, value in first.items()}
    torch.testing.assert_close(weights(objective.target.network), expected)
    assert not torch.equal(moved["values.action.weight"], first["values.action.weight"])


def test_the_temperature_falls_where_the_policy_is_spread_wide() -> None:
    policy = policy_of("cql-mlp", BOX)
    objective, window = cql_of(policy), random_window(policy, [4], 4)
    with torch.no_grad():
        policy.readout.weight.zero_()  # a standard deviation of 1 before the tanh: entropy far above -2
    assert gradients(loss_of(objective, policy, window).total, {"it": objective})["it.log_temperature"] > 0


def test_state_dict_round_trip() -> None:
    policy, other = policy_of("cql-mlp", BOX), policy_of("cql-mlp", BOX, seed=1)
    window = random_window(policy, [3, 4], 4)
    objective, twin = cql_of(policy), cql_of(other)
    fit(policy, objective, window, 5)
    assert not torch.equal(loss_of(twin, policy, window).total, loss_of(objective, policy, window).total)
    twin.load_state_dict(objective.state_dict())
    assert torch.equal(loss_of(twin, policy, window).total, loss_of(objective, policy, window).total)
