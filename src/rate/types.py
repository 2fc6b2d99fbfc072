"""The values that move through the library, and the one legend of shapes.

Shapes: B batch (episodes), T environment steps, L tokens, M memory tokens, D width. Everything is batch-first.
An observation is a tree: an array, or a dict / tuple of trees as its Gymnasium space is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # torch takes seconds to import, and many commands do without it
    import torch
    from torch import Tensor

Array: TypeAlias = NDArray[Any]
Tree: TypeAlias = Any
"""An array or tensor, or a dict, list, tuple or dataclass of trees."""

S = TypeVar("S")


def tree_map(function: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """Apply a function to the leaves of trees of one shape; numbers, strings and None stay as they are."""
    if hasattr(tree, "__array__") and not isinstance(tree, np.generic):  # an array or a tensor
        return function(tree, *rest)
    if isinstance(tree, Mapping):
        return {key: tree_map(function, tree[key], *(other[key] for other in rest)) for key in tree}
    if isinstance(tree, (tuple, list)):
        return type(tree)(tree_map(function, *leaves) for leaves in zip(tree, *rest, strict=True))
    if is_dataclass(tree) and not isinstance(tree, type):
        changed = {
            item.name: tree_map(function, getattr(tree, item.name), *(getattr(other, item.name) for other in rest))
            for item in fields(tree)
        }
        return replace(tree, **changed)
    return tree


def tree_leaves(tree: Tree) -> list[Any]:
    """The leaves of a tree in the order `tree_map` visits them."""
    leaves: list[Any] = []

    def visit(leaf: Any) -> Any:
        leaves.append(leaf)
        return leaf

    tree_map(visit, tree)
    return leaves


@dataclass(frozen=True, kw_only=True)
class Spaces:
    """What the agent sees and does."""

    observation: gym.Space[Any]
    action: gym.Space[Any]
    oracle: gym.Space[Any] | None = None
    """A privileged fact of each episode that a policy is given; None: it is given none."""


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """One episode in Minari's layout: observations[t] is seen before actions[t], rewards[t] follows it."""

    observations: Tree
    """(T + 1, ...)"""
    actions: Array
    """(T, ...)"""
    rewards: Array
    """(T,)"""
    terminations: Array
    """(T,) bool"""
    truncations: Array
    """(T,) bool"""
    infos: Mapping[str, Tree] = field(default_factory=dict)
    """Columns of length T + 1, as Minari keeps them."""
    seed: int = -1
    """The seed that `reset` was given; -1 where it is not known."""

    def __len__(self) -> int:
        return len(self.rewards)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A stretch of consecutive steps of B episodes. Padding, where there is any, is at the end."""

    observation: Tree
    """(B, T, ...)"""
    action: Tensor
    """(B, T) or (B, T, A)"""
    return_to_go: Tensor
    """(B, T), undiscounted, over the full episode."""
    reward: Tensor
    """(B, T), what followed the action."""
    terminated: Tensor
    """(B, T) bool, whether the episode ended by its own rules, and not at a time limit."""
    timestep: Tensor
    """(B, T), the place of a step in its episode."""
    mask: Tensor
    """(B, T) bool, true for real steps."""
    oracle: Tree = None
    """(B, T, ...), the same at every step of an episode; None where the policy takes none."""

    def __len__(self) -> int:
        return self.mask.shape[1]

    def split(self, length: int | None, first: int | None = None) -> Iterator[Segment]:
        """Cut into segments of `length` steps (the last may be shorter), the first of `first`; None: one segment."""
        size = length or len(self)
        for start, stop in pairwise([0, *range(first or size, len(self), size), len(self)]):
            yield tree_map(lambda leaf, start=start, stop=stop: leaf[:, start:stop], self)

    def at(self, step: int) -> Inputs:
        """What a policy is given at one step of the segment, the first of which is the first of the episodes."""
        return Inputs(
            observation=tree_map(lambda leaf: leaf[:, step], self.observation),
            previous_action=self.action[:, step - 1] if step else None,
            return_to_go=self.return_to_go[:, step],
            timestep=step,
            oracle=tree_map(lambda leaf: leaf[:, step], self.oracle),
        )


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a policy is given at one environment step of B episodes."""

    observation: Tree
    """(B, ...)"""
    previous_action: Tensor | None
    """(B,) or (B, A); None at the first step of the episodes."""
    return_to_go: Tensor
    """(B,)"""
    timestep: int
    """The place of the step in its episode."""
    oracle: Tree = None
    """(B, ...)"""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a policy predicts: the parameters that its head turns into an action."""

    prediction: Tensor
    """(B, T, P) from `forward`, (B, P) from `step`."""


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """One evaluated episode: one line of eval.jsonl."""

    case: str
    evaluation: str
    """Which evaluation it belongs to: all episodes of one case that were run together share this mark."""
    seed: int
    episode_return: float
    length: int
    success: bool | None
    """None where the environment has no notion of success."""
    target_return: float
    checkpoint: str
    step: int
    """Optimiser step of the checkpoint."""
    tags: Mapping[str, str] = field(default_factory=dict)
    intervention: str = ""
    """What was changed in the policy while it acted, such as memory-noise=0.5; empty: nothing."""
    prompt: str = "countdown"
    """Which return-to-go was shown."""
    familiar: bool | None = None
    """Whether training held its first observation; None: not known."""


def to_tensor(tree: Tree, device: torch.device | str = "cpu") -> Tree:
    """NumPy leaves to tensors on a device; tensors move."""
    import torch

    return tree_map(lambda leaf: torch.as_tensor(leaf).to(device), tree)
