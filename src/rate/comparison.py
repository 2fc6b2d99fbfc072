"""All registered models in one table: what a step of acting and of training costs, at the sizes of their recipes.

Part of `rate bench`. Every model is measured in the same minute; only ratios between rows can be compared elsewhere.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from rate.config import RunConfig
from rate.envs.own import find_env
from rate.envs.spec import spaces_of
from rate.experiment.experiment import with_oracle
from rate.models import MODELS, SequencePolicy, unroll
from rate.nn.ssm import loop_scan, selective_scan
from rate.objectives import Objective
from rate.recipes import RECIPES, recipe
from rate.types import Inputs, Segment, Spaces, tree_leaves, tree_map

FAMILY = "tmaze"
"""The recipes whose sizes are measured."""
LATE = 2_000
"""A step far into an episode, to hold against one at the start of it; more than any window or segment."""

Figures = dict[str, Any]


def clock() -> float:
    """CPU seconds on one thread, where other work does not count; wall seconds on several, where waiting does."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def configs() -> dict[str, RunConfig]:
    return {name: recipe(f"{FAMILY}/{name}") for name in MODELS.names() if f"{FAMILY}/{name}" in RECIPES}


def spaces_for(config: RunConfig) -> Spaces:
    return with_oracle(config, spaces_of(find_env(config.env.name)))


def learner(config: RunConfig) -> tuple[SequencePolicy[Any], Objective]:
    """A policy with fresh weights, and what it is trained to do."""
    torch.manual_seed(0)
    policy = config.model.build(spaces_for(config))
    return policy, config.objective.build(policy, unroll)


def window_of(spaces: Spaces, batch: int, length: int) -> Segment:
    """Random steps."""
    shape = spaces.observation.shape
    assert shape is not None
    return Segment(
        observation=torch.randn(batch, length, *shape),
        action=torch.zeros(batch, length, dtype=torch.long),
        return_to_go=torch.ones(batch, length),
        reward=torch.zeros(batch, length),
        terminated=torch.zeros(batch, length, dtype=torch.bool),
        timestep=torch.arange(length).repeat(batch, 1),
        mask=torch.ones(batch, length, dtype=torch.bool),
        oracle=None if spaces.oracle is None else torch.ones(batch, length),
    )


def bytes_of(state: Any) -> int:
    return sum(leaf.numel() * leaf.element_size() for leaf in tree_leaves(state))


class Walk:
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

    def on(self, steps: int) -> Walk:
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
    early = Walk(policy, 1).on(2 * window)
    late = Walk(policy, 1).on(LATE)
    times = [(early.seconds(window), late.seconds(window)) for _ in range(repeats)]
    many = Walk(policy, 100).on(window)
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

    return {"training_steps_per_second": 1 / _fastest(step, repeats)}


def plain_scan(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrence as it is mostly written: all decays and inputs at once, then a loop that indexes them."""
    decay, written = torch.exp(delta[:, :, None] * A), (delta * x)[:, :, None] * B[..., None]
    outputs: list[Tensor] = []
    for t in range(x.shape[1]):
        state = decay[:, t] * state + written[:, t]
        outputs.append((C[:, t, :, None] * state).sum(1))
    return torch.stack(outputs, 1), state


def scan(repeats: int, tokens: int = 450, batch: int = 4, inner: int = 128, state: int = 16) -> Figures:
    """Mamba's scan, forward and backward, against two loops over tokens that autograd follows.

    Indexing makes autograd fill a whole gradient for every token; the careful loop takes the tensors apart once.
    """
    torch.manual_seed(0)
    values = {
        "x": torch.randn(batch, tokens, inner),
        "delta": torch.rand(batch, tokens, inner) * 0.1,
        "A": -torch.rand(state, inner) * state,
        "B": torch.randn(batch, tokens, state),
        "C": torch.randn(batch, tokens, state),
        "state": torch.zeros(batch, state, inner),
    }
    seconds = {name: _fastest(partial(_scanned, run, values), repeats) for name, run in SCANS.items()}
    own = seconds.pop("scan")
    ratios = {f"{name}_over_scan": value / own for name, value in seconds.items()}
    return {"tokens": tokens, "batch": batch, "scan_seconds": own, **ratios}


SCANS: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {
    "plain_loop": plain_scan,
    "careful_loop": loop_scan,
    "scan": selective_scan,
}


def _scanned(run: Callable[..., tuple[Tensor, Tensor]], values: Mapping[str, Tensor]) -> None:
    inputs: dict[str, Tensor] = tree_map(lambda leaf: leaf.clone().requires_grad_(), dict(values))
    run(**inputs)[0].sum().backward()  # type: ignore[no-untyped-call]


def _fastest(function: Callable[[], None], repeats: int) -> float:
    function()
    times = []
    for _ in range(repeats):
        began = clock()
        function()
        times.append(clock() - began)
    return min(times)


def measure(name: str, repeats: int) -> Figures:
    """One row of the table."""
    config = configs()[name]
    return {**acting(config, repeats), **training(config, max(2, repeats // 4))}
