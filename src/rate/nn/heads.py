"""Action heads: what a prediction means as an action, chosen by the action space.

The loss belongs to the head: cross-entropy where actions are discrete, squared error where they are continuous. Value
heads tell what actions are worth, or how they are spread, to objectives that look for the best ones.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rate.errors import ConfigError
from rate.nn.kinds import HeadKind
from rate.nn.unit import Unit
from rate.types import Array


class Head(ABC):
    """Reads a prediction (..., size) as an action of one space."""

    size: int
    measure: str = "accuracy"
    """What `score` is, as metrics and reports name it."""

    @abstractmethod
    def loss(self, prediction: Tensor, action: Tensor) -> Tensor:
        """(B, T, size) and (B, T, ...) -> (B, T)."""

    @abstractmethod
    def score(self, prediction: Tensor, action: Tensor) -> Tensor:
        """(B, T): how right the most likely action is, by the `measure` of the head."""

    def log_prob(self, prediction: Tensor, action: Tensor) -> Tensor:
        """(..., size) and (..., *action) -> (...): of the distribution that `act` samples from."""
        raise ConfigError("continuous actions have no probabilities; only discrete ones do")

    def probabilities(self, prediction: Tensor) -> tuple[Tensor, ...]:
        """(..., size) -> for each component (..., choices), what `act` samples from; none if actions are numbers."""
        return ()

    @abstractmethod
    def act(self, prediction: Tensor, sample: bool) -> Tensor:
        """(B, size) -> a batch of actions as the policy's own tokens take them: the most likely, or a sample."""

    @abstractmethod
    def to_env(self, action: Tensor) -> Array:
        """A batch of actions as the environment takes them."""

    def in_units(self) -> Unit | None:
        """Predict in units of the data from now on; None where the head has no use for them."""
        return None


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

    def score(self, prediction: Tensor, action: Tensor) -> Tensor:
        pairs = zip(self._logits(prediction), self._indices(action), strict=True)
        return torch.stack([x.argmax(-1) == y for x, y in pairs]).all(0).float()

    def log_prob(self, prediction: Tensor, action: Tensor) -> Tensor:
        pairs = zip(self._logits(prediction), self._indices(action), strict=True)
        return torch.stack([x.log_softmax(-1).gather(-1, y[..., None])[..., 0] for x, y in pairs]).sum(0)

    def probabilities(self, prediction: Tensor) -> tuple[Tensor, ...]:
        return tuple(logits.softmax(-1) for logits in self._logits(prediction))

    def act(self, prediction: Tensor, sample: bool) -> Tensor:
        if sample:
            picked = [torch.multinomial(shares, 1)[..., 0] for shares in self.probabilities(prediction)]
        else:
            picked = [logits.argmax(-1) for logits in self._logits(prediction)]
        chosen = torch.stack(picked, -1)
        chosen = chosen + torch.as_tensor(self.starts, device=chosen.device).flatten()
        return chosen.reshape(*prediction.shape[:-1], *self.shape)

    def to_env(self, action: Tensor) -> Array:
        return action.cpu().numpy().astype(self.dtype)


class ValueHead(CategoricalHead):
    """Discrete and MultiDiscrete: two Q functions; the lesser of them is believed, and acted on.

    With several components Q is a sum over them, Q(s, a) = sum_c Q_c(s, a_c). The best joint action is then the best
    of each component, and the logsumexp over all joint actions is the sum of one logsumexp per component. The lesser
    value is taken for each component, which is at most the lesser of the two sums.
    """

    def __init__(self, sizes: list[int], starts: Array, shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__(sizes, starts, shape, dtype)
        self.size = 2 * sum(sizes)

    def _values(self, prediction: Tensor) -> tuple[Tensor, ...]:
        """(..., 2, A) for each component of A actions."""
        return torch.split(prediction.reshape(*prediction.shape[:-1], 2, -1), self.sizes, -1)

    def _logits(self, prediction: Tensor) -> tuple[Tensor, ...]:
        return tuple(values.amin(-2) for values in self._values(prediction))

    def taken(self, prediction: Tensor, action: Tensor) -> Tensor:
        """(..., 2): both values of the action."""
        pairs = zip(self._values(prediction), self._indices(action), strict=True)
        picked = [q.gather(-1, index[..., None, None].expand(*index.shape, 2, 1))[..., 0] for q, index in pairs]
        return torch.stack(picked).sum(0)

    def log_sum(self, prediction: Tensor) -> Tensor:
        """(..., 2): log of the sum of exp(Q) over all joint actions."""
        return torch.stack([values.logsumexp(-1) for values in self._values(prediction)]).sum(0)

    def loss(self, prediction: Tensor, action: Tensor) -> Tensor:
        """Cross-entropy of both: behaviour cloning, which the public code of RATE trains under the name of CQL."""
        return (self.log_sum(prediction) - self.taken(prediction, action)).sum(-1)


class RegressionHead(Head):
    """Box: the prediction is the action, cut to the bounds when it is acted.

    With a unit, prediction and loss are in that unit; a policy that fits one to its data gives it to its head.
    """

    unit: Unit | None = None

    measure = "absolute_error"

    def __init__(self, space: gym.spaces.Box) -> None:
        self.shape, self.size = space.shape, int(np.prod(space.shape))
        self.low, self.high, self.dtype = space.low, space.high, space.dtype

    def in_units(self) -> Unit | None:
        self.unit = Unit(np.zeros(self.shape), np.ones(self.shape), fitted=True)
        return self.unit

    def _shaped(self, prediction: Tensor) -> Tensor:
        return prediction.reshape(*prediction.shape[:-1], *self.shape)

    def loss(self, prediction: Tensor, action: Tensor) -> Tensor:
        wanted = action if self.unit is None else self.unit(action)
        return (prediction - wanted.reshape(prediction.shape)).square().mean(-1)

    def score(self, prediction: Tensor, action: Tensor) -> Tensor:
        """The mean absolute error over the components, in the units of the actions: 0 is exact."""
        return (self._action(prediction) - action).reshape(prediction.shape).abs().mean(-1)

    def _action(self, prediction: Tensor) -> Tensor:
        shaped = self._shaped(prediction)
        return shaped if self.unit is None else self.unit.inverse(shaped)

    def act(self, prediction: Tensor, sample: bool) -> Tensor:
        low, high = (torch.as_tensor(x, device=prediction.device) for x in (self.low, self.high))
        return torch.clamp(self._action(prediction), low, high)

    def to_env(self, action: Tensor) -> Array:
        values: Array = action.cpu().numpy()
        whole = np.issubdtype(self.dtype, np.integer)  # a cast alone would cut 2.99 to 2
        return (values.round() if whole else values).astype(self.dtype)


LOG_STD = (-20.0, 2.0)
"""Least and largest log of a standard deviation."""
EDGE = 1e-4
"""How far actions of the data are moved inside of the bounds, which lie infinitely far out before the tanh."""


class GaussianHead(RegressionHead):
    """Box: a normal distribution through a tanh, scaled to the bounds; the prediction is [mean, log std].

    Densities are those of the box scaled to [-1, 1], so they do not depend on the units of the actions.
    """

    def __init__(self, space: gym.spaces.Box) -> None:
        super().__init__(space)
        if not (space.is_bounded() and np.all(space.low < space.high)):
            raise ConfigError(
                f"model.head = value needs bounded actions, low < high and both finite; {space} is not so"
            )
        self.components, self.size = self.size, 2 * self.size

    def in_units(self) -> Unit | None:
        return None  # the bounds are its unit

    def _bounds(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Middle and half of the width of the box, flat."""
        low, high = (torch.as_tensor(x, dtype=like.dtype, device=like.device).flatten() for x in (self.low, self.high))
        return (high + low) / 2, (high - low) / 2

    def to_unit(self, action: Tensor) -> Tensor:
        """Actions scaled to [-1, 1], flat: (..., A)."""
        flat = action.reshape(*action.shape[: action.dim() - len(self.shape)], -1).float()
        middle, half = self._bounds(flat)
        return (flat - middle) / half

    def _from_unit(self, unit: Tensor) -> Tensor:
        middle, half = self._bounds(unit)
        return middle + half * unit

    def _normal(self, prediction: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = prediction.chunk(2, -1)
        return mean, log_std.clamp(*LOG_STD)

    def sample_with_log_prob(self, prediction: Tensor, samples: int) -> tuple[Tensor, Tensor]:
        """Scaled actions (..., samples, A) that carry gradients, and their log density (..., samples)."""
        mean, log_std = (part.unsqueeze(-2) for part in self._normal(prediction))
        noise = torch.randn(*prediction.shape[:-1], samples, self.components, device=prediction.device)
        drawn = mean + log_std.exp() * noise
        return drawn.tanh(), _log_density(drawn, mean, log_std)

    def loss(self, prediction: Tensor, action: Tensor) -> Tensor:
        """Negative log-likelihood."""
        inside = self.to_unit(action).clamp(EDGE - 1, 1 - EDGE)
        return -_log_density(inside.atanh(), *self._normal(prediction))

    def score(self, prediction: Tensor, action: Tensor) -> Tensor:
        return super().score(self._from_unit(self._normal(prediction)[0].tanh()), action)

    def act(self, prediction: Tensor, sample: bool) -> Tensor:
        mean, log_std = self._normal(prediction)
        drawn = mean + log_std.exp() * torch.randn_like(mean) if sample else mean
        return super().act(self._from_unit(drawn.tanh()), sample)


def _log_density(drawn: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Log density of tanh(drawn), where drawn is normal; summed over the last axis."""
    normal = -0.5 * ((drawn - mean) / log_std.exp()).square() - log_std - 0.5 * math.log(2 * math.pi)
    slope = 2 * (math.log(2) - drawn - F.softplus(-2 * drawn))  # log(1 - tanh(drawn)^2), which would round to log 0
    return (normal - slope).sum(-1)


def build_head(space: gym.Space[Any], kind: HeadKind = "imitation") -> Head:
    """The head of an action space."""
    discrete, box = (ValueHead, GaussianHead) if kind == "value" else (CategoricalHead, RegressionHead)
    if isinstance(space, gym.spaces.Discrete):
        return discrete([int(space.n)], np.array([space.start], np.int64), (), np.int64)
    if isinstance(space, gym.spaces.MultiDiscrete):
        sizes = [int(n) for n in space.nvec.flatten()]
        return discrete(sizes, np.asarray(space.start, np.int64), space.shape, space.dtype)
    if isinstance(space, gym.spaces.Box):
        return box(space)
    raise ConfigError(f"actions of the space {space} are not supported; use Discrete, MultiDiscrete or Box")
