"""All registered models in one table: what a step of acting and of training costs, at the sizes of their recipes.

Part of `rate bench`. Every model is measured in the same minute; only ratios between rows can be compared elsewhere.
"""

from __future__ import annotations

import statistics
from typing import Any

import torch
from torch import Tensor

from rate.bench.measuring import Figures, bytes_of, clock, fastest, window_of
from rate.config import RunConfig
from rate.envs.find import find_env
from rate.envs.spec import spaces_of
from rate.experiment.train import with_oracle
from rate.models import MODELS, SequencePolicy, unroll
from rate.objectives import Objective
from rate.recipes import RECIPES, recipe
from rate.types import Inputs, Spaces

FAMILY = "tmaze"
"""The recipes whose sizes are measured."""
LATE = 2_000
"""A step far into an episode, to hold against one at the start of it; more than any window or segment."""


def configs() -> dict[str, RunConfig]:
    return {name: recipe(f"{FAMILY}/{name}") for name in MODELS.names() if f"{FAMILY}/{name}" in RECIPES}


def spaces_for(config: RunConfig) -> Spaces:
    return with_oracle(config, spaces_of(find_env(config.env.name)))


def learner(config: RunConfig) -> tuple[SequencePolicy[Any], Objective]:
    """A policy with fresh weights, and what it is trained to do."""
    torch.manual_seed(0)
    policy = config.model.build(spaces_for(config))
    return policy, config.objective.build(policy, unroll)


class Acting:
    """One episode that goes on: asks a policy for action after action."""

    def __init__(self, policy: SequencePolicy[Any], batch: int) -> None:
        self.policy, self.state = policy.eval(), policy.initial_state(batch)
        window = window_of(policy.spaces, batch, 2)
        self.first, self.later = window.at(0), window.at(1)
        self.steps = 0

    def step(self) -> None:
        x: Inputs = self.later if self.steps else self.first
        _, self.state = self.policy.step(x, self.state)
        self.steps += 1

    def on(self, steps: int) -> Acting:
        for _ in range(steps):
            self.step()
        return self

    def seconds(self, steps: int) -> float:
        """Per step, over the next ones."""
        began = clock()
        self.on(steps)
        return (clock() - began) / steps


@torch.inference_mode()
def acting(config: RunConfig, repeats: int) -> Figures:
    """A step at batch 1 and 100, the state, and the cost late in an episode against early in it.

    Early and late take turns, so that load hits both alike. Whole windows, so that every place of one counts once.
    """
    policy, window = learner(config)[0], config.train.window
    early = Acting(policy, 1).on(2 * window)
    late = Acting(policy, 1).on(LATE)
    times = [(early.seconds(window), late.seconds(window)) for _ in range(repeats)]
    many = Acting(policy, 100).on(window)
    return {
        "ms_per_step_batch_1": 1e3 * statistics.median(pair[0] for pair in times),
        "ms_per_step_batch_100": 1e3 * many.seconds(window),
        "late_over_early": statistics.median(pair[1] / pair[0] for pair in times),
        "state_bytes_per_env": bytes_of(late.state),
        "parameters": policy.parameter_count(),
    }


def training(config: RunConfig, repeats: int) -> Figures:
    """Optimiser steps per second at the batch and window of the recipe."""
    policy, objective = learner(config)
    parameters = [p for module in (policy, objective) for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    window = window_of(policy.spaces, config.train.batch_size, config.train.window + objective.lookahead)

    def step() -> None:
        loss: Tensor = objective(policy.train(), window).total
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        objective.after_step(policy)

    return {"training_steps_per_second": 1 / fastest(step, repeats)}


def measure(name: str, repeats: int) -> Figures:
    """One row of the table."""
    config = configs()[name]
    return {**acting(config, repeats), **training(config, max(2, repeats // 4))}
