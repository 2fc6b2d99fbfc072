"""The learning rate at every step, and which parameters decay."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import gymnasium as gym
import pytest
import torch
from torch import Tensor, nn

from rate.errors import CheckpointError, ConfigError
from rate.models import MODELS
from rate.nn.memory import VALVES
from rate.training.checkpoint import load_optimizer, optimizer_tensors
from rate.training.config import TrainConfig
from rate.training.optim import build_optimizer, learning_rate

PLAN = {"learning_rate": 0.8, "steps": 110, "warmup_steps": 10, "final_learning_rate": 0.25}


def rates(schedule: str, upto: int = 200, **changes: Any) -> list[float]:
    config = TrainConfig(**{**PLAN, "schedule": schedule, **changes})
    return [learning_rate(config, step) for step in range(upto)]


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_warm_up_is_linear_from_one_part_to_the_whole(schedule: str) -> None:
    assert rates(schedule)[:10] == pytest.approx([0.08 * n for n in range(1, 11)])


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_no_warm_up(schedule: str) -> None:
    assert rates(schedule, warmup_steps=0)[0] == pytest.approx(0.8)


def test_cosine() -> None:
    found = rates("cosine")
    for step in (10, 35, 60, 85, 109):
        left = 0.5 * (1 + math.cos(math.pi * (step - 10) / 100))
        assert found[step] == pytest.approx(0.2 + 0.6 * left)
    assert found[60] == pytest.approx(0.5)


def test_linear() -> None:
    found = rates("linear")
    assert [found[step] for step in (10, 35, 60, 85)] == pytest.approx([0.8, 0.65, 0.5, 0.35])


def test_constant() -> None:
    assert set(rates("constant")[10:]) == {0.8}


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_it_falls_to_the_floor_and_never_climbs_again(schedule: str) -> None:
    found = rates(schedule, upto=1000)
    assert all(later <= sooner for sooner, later in pairwise(found[9:]))
    assert found[110:] == pytest.approx([0.2] * 890)


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_floor_of_nothing(schedule: str) -> None:
    assert rates(schedule, final_learning_rate=0.0)[110] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_a_warm_up_longer_than_training(schedule: str) -> None:
    found = rates(schedule, steps=5, warmup_steps=10)
    assert found[:5] == pytest.approx([0.08, 0.16, 0.24, 0.32, 0.4])
    assert max(found) <= 0.8


def decayed(modules: list[nn.Module]) -> tuple[set[int], set[int]]:
    optimizer = build_optimizer(TrainConfig(weight_decay=0.3), modules)
    with_decay, without = optimizer.param_groups
    assert (with_decay["weight_decay"], without["weight_decay"]) == (0.3, 0.0)
    return {id(p) for p in with_decay["params"]}, {id(p) for p in without["params"]}


def test_only_matrices_decay() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Embedding(5, 4), nn.Conv1d(2, 2, 3))
    linear, norm, table, convolution = model
    yes, no = decayed([model])
    assert yes == {id(linear.weight), id(table.weight), id(convolution.weight)}
    assert no == {id(linear.bias), id(norm.weight), id(norm.bias), id(convolution.bias)}


def test_what_is_marked_does_not_decay() -> None:
    table = nn.Embedding(5, 4)
    table.weight.no_decay = True  # type: ignore[attr-defined]
    assert decayed([table]) == (set(), {id(table.weight)})


@pytest.mark.parametrize("name", MODELS.names())
def test_every_parameter_of_a_model_is_in_one_group(name: str, tmaze_spaces: Any) -> None:
    policy = MODELS.get(name)(9).build(replace(tmaze_spaces, oracle=gym.spaces.Box(-1, 1, ())))
    yes, no = decayed([policy])
    assert not yes & no
    assert yes | no == {id(p) for p in policy.parameters()}
    matrices = (p for p in policy.parameters() if p.dim() >= 2 and not getattr(p, "no_decay", False))
    assert yes == {id(p) for p in matrices}


def test_parameters_of_the_objective_are_trained_and_frozen_ones_are_not() -> None:
    objective, frozen = nn.Linear(2, 2), nn.Linear(2, 2).requires_grad_(False)
    yes, no = decayed([objective, frozen])
    assert yes | no == {id(p) for p in objective.parameters()}


def test_decay_without_gradient_shrinks_matrices_only() -> None:
    layer = nn.Linear(3, 3)
    nn.init.ones_(layer.weight), nn.init.ones_(layer.bias)
    optimizer = build_optimizer(TrainConfig(weight_decay=0.5, learning_rate=0.1), [layer])
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert layer.weight.detach().numpy() == pytest.approx(0.95)
    assert layer.bias.detach().numpy() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "field",
    [
        "window",
        "steps",
        "batch_size",
        "log_every",
        "validate_every",
        "checkpoint_every",
        "evaluate_episodes",
        "bptt_segments",
    ],
)
def test_nothing_happens_zero_times(field: str) -> None:
    with pytest.raises(ConfigError, match=f"train.{field} is 0"):
        TrainConfig(**{field: 0})


@pytest.mark.parametrize("field", ["weight_decay", "clip", "final_learning_rate"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_rates_are_finite_and_not_negative(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"train.{field} is {value}"):
        TrainConfig(**{field: value})


@pytest.mark.parametrize("betas", [(2.0, 3.0), (0.9, 1.0), (-0.1, 0.9), (0.9, math.nan), (0.9,)])
def test_betas(betas: Any) -> None:
    with pytest.raises(ConfigError, match=r"train\.betas"):
        TrainConfig(betas=betas)


@pytest.mark.parametrize("field", ["schedule", "precision"])
def test_choices(field: str) -> None:
    with pytest.raises(ConfigError, match=f"train.{field} is 'other'; it must be one of"):
        TrainConfig(**{field: "other"})


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_learning_rate_is_positive(value: float) -> None:
    with pytest.raises(ConfigError, match=r"train\.learning_rate"):
        TrainConfig(learning_rate=value)


def test_the_valve_is_among_the_parameters(tmaze_spaces: Any) -> None:
    """The reference left its valve out of training."""
    policy = MODELS.get("rate")(9).build(tmaze_spaces)
    assert "ca2" in VALVES
    yes, _ = decayed([policy])
    assert {id(p) for name, p in policy.named_parameters() if "valve" in name and p.dim() == 2} <= yes
    assert any("valve" in name for name, _ in policy.named_parameters())


@pytest.mark.parametrize("damage", [{"0.exp_avg": torch.zeros(7)}, {"9.exp_avg": torch.zeros(2, 3)}])
def test_the_state_of_another_optimiser_is_refused(damage: dict[str, Tensor]) -> None:
    """Before the next step fails on it."""
    layer = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    kept = optimizer_tensors(optimizer)
    load_optimizer(optimizer, kept)
    with pytest.raises(CheckpointError, match="does not fit the policy in"):
        load_optimizer(optimizer, {**kept, **damage})
