"""Windows of random steps, and what policies make of them: the tools of the contracts of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces as gs
from torch import Tensor

from rate.models.policy import SequencePolicy, unroll
from rate.spaces import map_space
from rate.types import Segment, Spaces, Tree, tree_leaves, tree_map

Policy = SequencePolicy[Any]

K, WINDOW = 3, 9
BATCH = 3
LENGTH = 4 * K + 2
"""Four segment boundaries and an open segment."""


def draw(space: gym.Space[Any], lead: tuple[int, ...], rng: np.random.Generator) -> Tree:
    """Random elements of a space as tensors."""
    return map_space(lambda leaf: _draw(leaf, lead, rng), space)


def _draw(space: gym.Space[Any], lead: tuple[int, ...], rng: np.random.Generator) -> Tensor:
    if isinstance(space, gs.Discrete):
        return torch.as_tensor(rng.integers(space.start, space.start + space.n, lead))
    if isinstance(space, gs.MultiDiscrete):
        return torch.as_tensor(rng.integers(space.start, space.start + space.nvec, (*lead, *(space.shape or ()))))
    if isinstance(space, gs.MultiBinary):
        return torch.as_tensor(rng.integers(0, 2, (*lead, *(space.shape or ()))).astype(np.int8))
    if space.dtype == np.uint8:
        return torch.as_tensor(rng.integers(0, 256, (*lead, *(space.shape or ()))).astype(np.uint8))
    return torch.as_tensor(rng.standard_normal((*lead, *(space.shape or ()))).astype(np.float32))


def other(space: gym.Space[Any], x: Tree) -> Tree:
    """A value of the space that differs everywhere."""
    return map_space(_other, space, x)


def _other(space: gym.Space[Any], x: Tensor) -> Tensor:
    if isinstance(space, gs.Discrete):
        return (x - int(space.start) + 1) % int(space.n) + int(space.start)
    if isinstance(space, gs.MultiDiscrete):
        start, sizes = torch.as_tensor(space.start), torch.as_tensor(space.nvec)
        return (x - start + 1) % sizes + start
    if isinstance(space, gs.MultiBinary):
        return 1 - x
    return 255 - x if space.dtype == np.uint8 else x + 3.0


def make_window(spaces: Spaces, length: int, batch: int = BATCH, seed: int = 0) -> Segment:
    rng = np.random.default_rng(seed)
    return Segment(
        observation=draw(spaces.observation, (batch, length), rng),
        action=draw(spaces.action, (batch, length), rng),
        return_to_go=torch.as_tensor(rng.standard_normal((batch, length)).astype(np.float32)),
        reward=torch.as_tensor(rng.standard_normal((batch, length)).astype(np.float32)),
        terminated=torch.zeros(batch, length, dtype=torch.bool),
        timestep=torch.arange(length).repeat(batch, 1),
        mask=torch.ones(batch, length, dtype=torch.bool),
        oracle=None if spaces.oracle is None else draw(spaces.oracle, (batch, 1), rng).repeat(1, length, 1),
    )


def changed(window: Segment, spaces: Spaces, **where: Tensor) -> Segment:
    """Another window that differs in the given parts where (B, T) is true."""

    def pick(at: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda new, old: torch.where(at.reshape(*at.shape, *[1] * (old.dim() - 2)), new, old)

    parts: dict[str, Tree] = {
        "observation": other(spaces.observation, window.observation),
        "action": other(spaces.action, window.action),
        "return_to_go": window.return_to_go + 3.0,
    }
    return replace(window, **{key: tree_map(pick(at), parts[key], getattr(window, key)) for key, at in where.items()})


def cut(window: Segment, start: int, stop: int) -> Segment:
    cut: Segment = tree_map(lambda leaf: leaf[:, start:stop], window)
    return cut


def rows(tree: Tree, index: Any) -> Tree:
    return tree_map(lambda leaf: leaf[index], tree)


def longest(policy: Policy) -> int:
    """How many steps `unroll` is asked for."""
    return policy.context or LENGTH


def predict(policy: Policy, window: Segment) -> Tensor:
    with torch.no_grad():
        return unroll(policy, window).prediction


def carry(policy: Policy, window: Segment) -> tuple[Tensor, Any]:
    """As `unroll`, with the state that is left."""
    state, predictions = policy.initial_state(len(window.mask)), []
    for segment in window.split(policy.segment_len):
        output, state = policy(segment, state)
        predictions.append(output.prediction)
    return torch.cat(predictions, 1), state


def act(policy: Policy, window: Segment, start: int = 0, state: Any = None) -> Iterator[tuple[Tensor, Any]]:
    """Every step's prediction (B, P) and state."""
    state = policy.initial_state(len(window.mask)) if state is None else state
    for t in range(start, len(window)):
        with torch.no_grad():
            output, state = policy.step(window.at(t), state)
        yield output.prediction, state


def acted(policy: Policy, window: Segment) -> Tensor:
    return torch.stack([prediction for prediction, _ in act(policy, window)], 1)


def loss_of(policy: Policy, prediction: Tensor, window: Segment) -> Tensor:
    losses = policy.head.loss(prediction, window.action)
    return torch.where(window.mask, losses, 0).sum() / window.mask.sum()


def gradients(policy: Policy, loss: Tensor) -> dict[str, Tensor | None]:
    names, parameters = zip(*policy.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True))


def state_bytes(state: Any) -> int:
    return sum(leaf.numel() * leaf.element_size() for leaf in tree_leaves(state))


def integers(state: Any) -> list[int]:
    """The counters of a state."""
    if isinstance(state, int):
        return [state]
    if is_dataclass(state):
        return [number for item in fields(state) for number in integers(getattr(state, item.name))]
    return []


def close(actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def repeated(spaces: Spaces, steps: int) -> Segment:
    """One episode in as many rows as it has steps, so that row t can differ in step t."""
    window: Segment = rows(make_window(spaces, steps, batch=1), [0] * steps)
    return window


def padded(window: Segment, spaces: Spaces, lengths: list[int], extra: int, seed: int) -> Segment:
    """More steps at the end, and garbage in all that is not real."""
    garbage = make_window(spaces, len(window) + extra, len(lengths), seed)
    longer: Segment = tree_map(lambda new, old: torch.cat([old, new[:, len(window) :]], 1), garbage, window)
    mask = torch.arange(len(longer)) < torch.as_tensor(lengths)[:, None]
    worse = changed(longer, spaces, observation=~mask, action=~mask, return_to_go=~mask)
    return replace(worse, mask=mask)


def without_dropout(policy: Policy) -> Policy:
    """In training mode, with nothing random left."""
    for module in policy.train().modules():
        if isinstance(getattr(module, "dropout", None), float):
            setattr(module, "dropout", 0.0)  # noqa: B010
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return policy
