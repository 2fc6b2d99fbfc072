"""Action heads: what a prediction means as an action, chosen by the action space.

The loss belongs to the head: cross-entropy where actions are discrete, squared error where they are continuous.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rate.errors import ConfigError
from rate.types import Array


class Head(ABC):
    """Reads a prediction (..., size) as an action of one space."""

    size: int

    @abstractmethod
    def loss(self, prediction: Tensor, action: Tensor) -> Tensor:
        """(B, T, size) and (B, T, ...) -> (B, T)."""

    @abstractmethod
    def accuracy(self, prediction: Tensor, action: Tensor) -> Tensor:
        """(B, T): how right the most likely action is (1 is exact)."""

    @abstractmethod
    def act(self, prediction: Tensor, sample: bool) -> Tensor:
        """(B, size) -> a batch of actions as the policy's own tokens take them: the most likely, or a sample."""

    @abstractmethod
    def to_env(self, action: Tensor) -> Array:
        """A batch of actions as the environment takes them."""


class CategoricalHead(Head):
    """Discrete and MultiDiscrete: one softmax per component."""

    def __init__(self, sizes: list[int], starts: Array, shape: tuple[int, ...], dtype: Any) -> None:
        self.sizes, self.shape, self.size, self.dtype = sizes, shape, sum(sizes), dtype
        self.starts = starts

    def _logits(self, prediction: Tensor) -> tuple[Tensor, ...]:
        return torch.split(prediction, self.sizes, -1)

    def _indices(self, action: Tensor) -> tuple[Tensor, ...]:
        flat = action.reshape(*action.shape[: action.dim() - len(self.shape)], -1)
        shifted = flat - torch.as_tensor(self.starts, device=action.device).flatten()
        return shifted.unbind(-1)

    def loss(self, prediction: Tensor, action: Tensor) -> Tensor:
        pairs = zip(self._logits(prediction), self._indices(action), strict=True)
        return torch.stack([F.cross_entropy(x.movedim(-1, 1), y, reduction="none") for x, y in pairs]).sum(0)

    def accuracy(self, prediction: Tensor, action: Tensor) -> Tensor:
        pairs = zip(self._logits(prediction), self._indices(action), strict=True)
        return torch.stack([x.argmax(-1) == y for x, y in pairs]).all(0).float()

    def act(self, prediction: Tensor, sample: bool) -> Tensor:
        def pick(logits: Tensor) -> Tensor:
            return torch.multinomial(logits.softmax(-1), 1)[..., 0] if sample else logits.argmax(-1)

        chosen = torch.stack([pick(logits) for logits in self._logits(prediction)], -1)
        chosen = chosen + torch.as_tensor(self.starts, device=chosen.device).flatten()
        return chosen.reshape(*prediction.shape[:-1], *self.shape)

    def to_env(self, action: Tensor) -> Array:
        return action.cpu().numpy().astype(self.dtype, copy=False)


class RegressionHead(Head):
    """Box: the prediction is the action, cut to the bounds when it is acted."""

    def __init__(self, space: gym.spaces.Box) -> None:
        self.shape, self.size = space.shape, int(np.prod(space.shape))
        self.low, self.high, self.dtype = space.low, space.high, space.dtype

    def _shaped(self, prediction: Tensor) -> Tensor:
        return prediction.reshape(*prediction.shape[:-1], *self.shape)

    def loss(self, prediction: Tensor, action: Tensor) -> Tensor:
        return (prediction - action.reshape(prediction.shape)).square().mean(-1)

    def accuracy(self, prediction: Tensor, action: Tensor) -> Tensor:
        """1 / (1 + mean absolute error), so that 1 is exact as for the discrete heads."""
        return 1 / (1 + (prediction - action.reshape(prediction.shape)).abs().mean(-1))

    def act(self, prediction: Tensor, sample: bool) -> Tensor:
        low, high = (torch.as_tensor(x, device=prediction.device) for x in (self.low, self.high))
        return torch.clamp(self._shaped(prediction), low, high)

    def to_env(self, action: Tensor) -> Array:
        values: Array = action.cpu().numpy()
        whole = np.issubdtype(self.dtype, np.integer)  # a cast alone would cut 2.99 to 2
        return (values.round() if whole else values).astype(self.dtype, copy=False)


def build_head(space: gym.Space[Any]) -> Head:
    """The head of an action space."""
    if isinstance(space, gym.spaces.Discrete):
        return CategoricalHead([int(space.n)], np.array([space.start], np.int64), (), np.int64)
    if isinstance(space, gym.spaces.MultiDiscrete):
        sizes = [int(n) for n in space.nvec.flatten()]
        return CategoricalHead(sizes, np.asarray(space.start, np.int64), space.shape, space.dtype)
    if isinstance(space, gym.spaces.Box):
        return RegressionHead(space)
    raise ConfigError(f"actions of the space {space} are not supported; use Discrete, MultiDiscrete or Box")
