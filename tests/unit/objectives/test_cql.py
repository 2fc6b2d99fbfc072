"""Conservative Q-learning of discrete actions: targets in numbers, a target network that follows, no leak, and that
it finds the action that pays where cloning finds the one that is frequent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium import spaces as gs
from torch import Tensor

from integration.tiny import assert_same_run, config
from rate.errors import ConfigError
from rate.experiment import train_run
from rate.models import MODELS, unroll
from rate.nn.heads import ValueHead
from rate.objectives import OBJECTIVES, BehaviourCloning, CqlConfig
from rate.objectives.bootstrap import Target, with_next
from rate.objectives.cql import DiscreteCql
from rate.types import Output, Segment
from unit.objectives.small import (
    MODEL_NAMES,
    Policy,
    fit,
    gradients,
    joined,
    policy_of,
    random_window,
    repeated,
    weights,
    window_of,
    with_garbage,
)

TWO = gs.Discrete(2)
each_model = pytest.mark.parametrize("name", MODEL_NAMES)


def cql_of(policy: Policy, **fields: Any) -> DiscreteCql:
    objective = CqlConfig(**fields).build(policy, unroll)
    assert isinstance(objective, DiscreteCql)
    return objective


def best_action(policy: Policy, state: int) -> int:
    """What it does in a state that it sees first."""
    window = window_of([[state, state]], [[0]], [[0.0]], [[False]])
    with torch.no_grad():
        prediction = unroll(policy.eval(), window).prediction[:, 0]
    return int(policy.head.act(prediction, sample=False))


# What is learnt.

START, ON, OVER = 0, 1, 2


def frequent_but_worthless() -> Segment:
    """In nine of ten episodes action 0 ends it for nothing; else 1 leads on, to a state where all actions earn 1."""
    short = window_of([[START, OVER, OVER]], [[0, 0]], [[0.0, 0.0]], [[True, True]], [[True, False]])
    long = window_of([[START, ON, OVER]] * 2, [[1, 0], [1, 1]], [[0.0, 1.0]] * 2, [[False, True]] * 2)
    return joined(repeated(short, 18), long)


@pytest.mark.parametrize(("alpha", "chosen"), [(0.01, 1), (10.0, 0)])
def test_it_finds_what_pays_unless_it_must_not_leave_the_data(alpha: float, chosen: int) -> None:
    policy = policy_of("cql-mlp", TWO)
    fit(policy, cql_of(policy, alpha=alpha, tau=0.2), frequent_but_worthless(), 100, 0.03)
    assert best_action(policy, START) == chosen


def test_memory_finds_what_pays() -> None:
    policy = policy_of("cql-lstm", TWO)
    fit(policy, cql_of(policy, alpha=0.01, tau=0.2), frequent_but_worthless(), 100, 0.03)
    assert best_action(policy, START) == 1


def test_cloning_values_finds_what_is_frequent() -> None:
    """The same model and data without Bellman's equation: what passes for CQL must not be this."""
    policy = policy_of("cql-mlp", TWO)
    fit(policy, BehaviourCloning(), frequent_but_worthless(), 100, 0.03)
    assert best_action(policy, START) == 0


def test_the_values_settle_where_both_terms_balance() -> None:
    """One step, no bootstrap: the derivative of the loss is zero at Q(a) = r(a) + alpha (1 - softmax(Q)(a) / share)."""
    share, reward, alpha = torch.tensor([0.75, 0.25]), torch.tensor([0.0, 1.0]), 0.2
    window = window_of([[0, 1]] * 4, [[0], [0], [0], [1]], [[0.0], [0.0], [0.0], [1.0]], [[True]] * 4)
    policy = policy_of("cql-mlp", TWO)
    fit(policy, cql_of(policy, alpha=alpha), window, 150, 0.02)
    with torch.no_grad():
        values = unroll(policy, window).prediction[0, 0].view(2, 2)
    torch.testing.assert_close(values, reward + alpha * (1 - values.softmax(-1) / share), rtol=0.02, atol=0.02)


# Targets.


def canned(online: Tensor, target: Tensor) -> Any:
    """Runs nothing: predictions as given, for the policy and for its target."""

    def run(policy: Policy, window: Segment) -> Output:
        return Output(prediction=online if next(policy.parameters()).requires_grad else target)

    return run


def two_steps(terminated: bool) -> Segment:
    return window_of([[0, 1, 2]], [[1, 0]], [[0.5, 1.0]], [[False, terminated]])


@pytest.mark.parametrize(("terminated", "last"), [(True, 1.0), (False, 1.0 + 0.9 * 3.0)])
def test_targets_in_numbers(terminated: bool, last: float) -> None:
    """Online values choose the action, the lesser target value judges it; a time limit is not the end."""
    online = torch.tensor([[[0.0, 2.0, 0.0, 1.0], [4.0, 5.0, 6.0, 3.0], [1.0, 2.0, 1.0, 2.0]]])
    target = torch.tensor([[[9.0, 9.0, 9.0, 9.0], [7.0, 50.0, 8.0, 50.0], [40.0, 5.0, 40.0, 3.0]]])
    # Lesser online values: (4, 3) at step 1, so action 0, which the target calls 7 or 8; (1, 2) at step 2: 5 or 3.
    goals = torch.tensor([0.5 + 0.9 * 7.0, last])
    taken = torch.tensor([[2.0, 1.0], [4.0, 6.0]])
    log_sums = torch.stack([online[0, 0].view(2, 2).logsumexp(-1), online[0, 1].view(2, 2).logsumexp(-1)])
    bellman = (0.5 * (taken - goals[:, None]).square()).mean()
    conservative = (log_sums - taken).mean()
    policy = policy_of("cql-mlp", TWO)
    loss = CqlConfig(alpha=0.3, discount=0.9).build(policy, canned(online, target))(policy, two_steps(terminated))
    torch.testing.assert_close(loss.parts["bellman"], bellman)
    torch.testing.assert_close(loss.parts["conservative"], conservative)
    torch.testing.assert_close(loss.total, bellman + 0.3 * conservative)
    torch.testing.assert_close(loss.parts["q_data"], taken.mean())
    assert loss.parts["accuracy"] == 1
    assert loss.weight == 2


@each_model
def test_the_step_after_the_last_counts_as_seen(name: str) -> None:
    window = random_window(policy_of(name, TWO), [1, 3, 4], 4)
    assert with_next(window).mask.sum(1).tolist() == [2, 4, 5]
    assert window.mask.sum(1).tolist() == [1, 3, 4]


@each_model
@pytest.mark.parametrize(("length", "matters"), [(3, True), (2, False)])
def test_what_follows_a_time_limit_matters(name: str, length: int, matters: bool) -> None:
    policy = policy_of(name, TWO)
    objective, window = cql_of(policy), random_window(policy, [length], 4)
    moved = window.observation.clone()
    moved[:, length] = 3 - moved[:, length]
    losses = [objective(policy, one).total.item() for one in (window, replace(window, observation=moved))]
    assert (losses[0] != losses[1]) is matters


# Padding, gradients.


@each_model
@pytest.mark.parametrize("action", [TWO, gs.MultiDiscrete([2, 3])], ids=["discrete", "multi"])
def test_padding_changes_nothing(name: str, action: Any) -> None:
    policy, lengths = policy_of(name, action, previous_action=True), [1, 2, 4]
    objective, window = cql_of(policy), random_window(policy, lengths, 4)
    loss, spoilt = objective(policy, window), objective(policy, with_garbage(window, lengths))
    torch.testing.assert_close(spoilt.total, loss.total)
    torch.testing.assert_close(dict(spoilt.parts), dict(loss.parts))
    assert spoilt.weight == loss.weight == 7
    found = [gradients(one.total, {"policy": policy}) for one in (loss, spoilt)]
    torch.testing.assert_close(found[1], found[0])


@each_model
def test_gradients_reach_the_policy_and_nothing_else(name: str) -> None:
    policy = policy_of(name, TWO)
    objective = cql_of(policy)
    objective(policy, random_window(policy, [3, 4], 4)).total.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in policy.parameters())
    assert all(p.grad is None and not p.requires_grad for p in objective.parameters())


def test_no_gradient_through_the_target() -> None:
    """With the next step's values given a gradient too, the loss would be less by moving them."""
    policy = policy_of("cql-mlp", TWO)
    online = torch.randn(1, 3, 4, requires_grad=True)
    objective = CqlConfig().build(policy, canned(online, torch.randn(1, 3, 4)))
    objective(policy, two_steps(False)).total.backward()
    assert online.grad is not None
    assert online.grad[:, :2].any(-1).all() and not online.grad[:, 2].any()


# The target network.


def test_the_target_is_frozen_and_follows_exactly() -> None:
    policy = policy_of("cql-lstm", TWO, dropout=0.5)
    objective = cql_of(policy, tau=0.25)
    before, first = weights(policy), weights(objective.target.network)
    torch.testing.assert_close(first, before, rtol=0, atol=0)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.1)
    objective(policy, random_window(policy, [3, 4], 4)).total.backward()
    optimizer.step()
    torch.testing.assert_close(weights(objective.target.network), first, rtol=0, atol=0)
    objective.after_step(policy)
    expected = {name: value + 0.25 * (weights(policy)[name] - value) for name, value in first.items()}
    torch.testing.assert_close(weights(objective.target.network), expected)
    assert not torch.equal(expected["readout.weight"], first["readout.weight"])


def test_the_target_has_no_dropout_whatever_is_asked() -> None:
    policy = policy_of("cql-mlp", TWO, dropout=0.5).train()
    objective = cql_of(policy).train()
    target: Target[Any] = objective.target
    window = with_next(random_window(policy, [4], 4))
    runs = [unroll(target.network, window).prediction for _ in range(2)]
    assert torch.equal(*runs)
    assert not torch.equal(*(unroll(policy, window).prediction for _ in range(2)))


def test_state_dict_round_trip() -> None:
    policy, other = policy_of("cql-mlp", TWO), policy_of("cql-mlp", TWO, seed=1)
    window = random_window(policy, [3, 4], 4)
    objective, twin = cql_of(policy), cql_of(other)
    fit(policy, objective, window, 5)
    assert twin(policy, window).total != objective(policy, window).total
    twin.load_state_dict(objective.state_dict())
    assert torch.equal(twin(policy, window).total, objective(policy, window).total)


def tiny_run(model: str, steps: int) -> Any:
    base = config(steps=steps, checkpoint_every=3, validate_every=4)
    built = MODELS.get(model)(9, width=8, hidden=16)
    return replace(base, model=built, objective=CqlConfig(tau=0.1))


@each_model
def test_a_resumed_run_is_the_same(name: str, tmp_path: Path) -> None:
    train_run(tiny_run(name, 8), tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DiscreteCql, "after_step", stop_after(4))
        with pytest.raises(KeyboardInterrupt):
            train_run(tiny_run(name, 8), tmp_path / "cut")
    train_run(tiny_run(name, 8), tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def stop_after(steps: int) -> Any:
    real, left = DiscreteCql.after_step, [steps]

    def after_step(self: DiscreteCql, policy: Policy) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(self, policy)

    return after_step


# Configuration.


def test_it_is_registered_and_looks_ahead() -> None:
    assert OBJECTIVES.get("cql")() == CqlConfig()
    policy = policy_of("cql-mlp", TWO)
    assert isinstance(policy.head, ValueHead)
    assert cql_of(policy).lookahead == 1


@pytest.mark.parametrize("action", [TWO, gs.Box(-1, 1, (2,))], ids=["discrete", "box"])
def test_models_without_values_are_refused(action: Any) -> None:
    policy = policy_of("bc-mlp", action)
    with pytest.raises(ConfigError, match=r"objective cql needs a model with model\.head = value"):
        CqlConfig().build(policy, unroll)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("alpha", -0.1),
        ("discount", 1.1),
        ("discount", -0.1),
        ("tau", 0.0),
        ("tau", 1.5),
        ("samples", 0),
        ("critic_hidden", 0),
        ("critic_layers", 0),
    ],
)
def test_bad_values_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"objective\.{field} is {value}; it must be"):
        CqlConfig(**{field: value})
