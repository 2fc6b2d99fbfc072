"""Average: the running mean of a policy's weights over the last steps, which acts in place of the weights themselves.

Training goes on as if there were none. Gradients of a few episodes push weights to and fro, and what one step loses
the next one finds again; their mean stays where both agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from rate.training.config import TrainConfig


class Average:
    """Of the parameters of one policy; where no average is asked for, the parameters themselves act."""

    def __init__(self, policy: nn.Module, config: TrainConfig) -> None:
        self.steps = round(config.average * config.steps)
        """Over which weights are averaged; 0: none are."""
        self._weights = [parameter for parameter in policy.parameters() if self.steps]
        self._means = [weight.detach().clone() for weight in self._weights]

    def begin(self) -> None:
        """Start from the weights as they are."""
        for mean, weight in zip(self._means, self._weights, strict=True):
            mean.copy_(weight.detach())

    def follow(self, step: int) -> None:
        """After an optimiser step: the first ones count alike, until there are enough of them."""
        if self._weights:
            torch._foreach_lerp_(self._means, [weight.detach() for weight in self._weights], 1 / min(step, self.steps))

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Put the means in the place of the weights for a while."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for at, weight in enumerate(self._weights):
            weight.data, self._means[at] = self._means[at], weight.data
