"""Small policies and windows, and a few steps of training without a trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gymnasium as gym
import torch
from gymnasium import spaces as gs
from torch import Tensor, nn

from rate.models import MODELS, SequencePolicy
from rate.objectives import Objective
from rate.types import Segment, Spaces, tree_map

Policy = SequencePolicy[Any]
MODEL_NAMES = ("cql-mlp", "cql-lstm")


def policy_of(name: str, action: gym.Space[Any], *, states: int = 4, seed: int = 0, **fields: Any) -> Policy:
    """A policy over `states` states, without dropout unless it is asked for."""
    torch.manual_seed(seed)
    config = MODELS.get(name)(8, **{"width": 8, "hidden": 16, "dropout": 0.0, **fields})
    return config.build(Spaces(observation=gs.Discrete(states), action=action))


def window_of(observation: Any, action: Any, reward: Any, terminated: Any, mask: Any = None) -> Segment:
    """Rows of T + 1 observations and T steps of all else; a last step is made up as the data does it."""
    seen = torch.as_tensor(observation)

    def longer(values: Any) -> Tensor:
        steps = torch.as_tensor(values)
        return torch.cat([steps, steps[:, -1:]], 1)

    real = torch.ones(seen.shape[0], seen.shape[1] - 1, dtype=torch.bool) if mask is None else torch.as_tensor(mask)
    return Segment(
        observation=seen,
        action=longer(action),
        return_to_go=torch.zeros(seen.shape),
        reward=longer(reward).float(),
        terminated=longer(terminated).bool(),
        timestep=torch.arange(seen.shape[1]).repeat(len(seen), 1),
        mask=torch.cat([real, torch.zeros(len(seen), 1, dtype=torch.bool)], 1),
    )


def random_window(policy: Policy, lengths: list[int], steps: int, seed: int = 0) -> Segment:
    """Episodes of the given lengths; those of even length end by themselves, the others at a time limit."""
    generator, space = torch.Generator().manual_seed(seed), policy.spaces.action
    rows = len(lengths)
    ends = torch.arange(steps) == torch.as_tensor(lengths)[:, None] - 1
    shape = (rows, steps, *(space.shape or ()))
    is_box = isinstance(space, gs.Box)
    acted = torch.rand(shape, generator=generator) if is_box else torch.randint(0, 2, shape, generator=generator)
    return window_of(
        torch.randint(0, 4, (rows, steps + 1), generator=generator),
        acted,
        torch.randn(rows, steps, generator=generator),
        ends & (torch.as_tensor(lengths) % 2 == 0)[:, None],
        torch.arange(steps) < torch.as_tensor(lengths)[:, None],
    )


def with_garbage(window: Segment, lengths: list[int]) -> Segment:
    """Other values in all that is neither a real step nor the observation that follows the last."""
    at = torch.arange(len(window)) - torch.as_tensor(lengths)[:, None]

    def spoil(values: Tensor, new: Tensor, where: Tensor) -> Tensor:
        return torch.where(where.reshape(*where.shape, *[1] * (values.dim() - 2)), new, values)

    return replace(
        window,
        observation=spoil(window.observation, 3 - window.observation, at > 0),
        action=spoil(window.action, 1 - window.action, at >= 0),
        reward=spoil(window.reward, window.reward + 100, at >= 0),
        terminated=spoil(window.terminated, ~window.terminated, at >= 0),
    )


def repeated(window: Segment, count: int) -> Segment:
    rows: Segment = tree_map(lambda leaf: leaf.repeat(count, *[1] * (leaf.dim() - 1)), window)
    return rows


def joined(*windows: Segment) -> Segment:
    rows: Segment = tree_map(lambda *leaves: torch.cat(leaves), *windows)
    return rows


def fit(policy: Policy, objective: Objective, window: Segment, steps: int, learning_rate: float = 0.01) -> None:
    """Train on one window, as the trainer does it."""
    parameters = [p for module in (policy, objective) for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=learning_rate)
    policy.train()
    for _ in range(steps):
        optimizer.zero_grad()
        objective(policy, window).total.backward()
        optimizer.step()
        objective.after_step(policy)


def weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def gradients(loss: Tensor, modules: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """The gradient of every parameter that it reaches, by name."""
    named = {f"{part}.{name}": p for part, module in modules.items() for name, p in module.named_parameters()}
    trained = {name: p for name, p in named.items() if p.requires_grad}
    found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
    return {name: gradient for name, gradient in zip(trained, found, strict=True) if gradient is not None}
