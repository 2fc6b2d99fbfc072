"""Ranks: how many processes train one policy together, and which of them this one is.

Each has the whole policy and a share of every batch. Sums over the ranks make of that the batch, the loss and the
gradients of a single process, so the trainer is written for one. Who starts the processes gives `reduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rate.errors import ConfigError, LeftError
from rate.objectives.objective import Loss

Reduce = Callable[[Tensor], Tensor]
"""A tensor of this rank in, the sum over all ranks out; every rank calls it in the same order."""


def alone(tensor: Tensor) -> Tensor:
    """The sum over one rank."""
    return tensor


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """One rank of `world`; by default the only one, for which nothing is computed that would not be without it."""

    rank: int = 0
    world: int = 1
    reduce: Reduce = alone

    @property
    def writes(self) -> bool:
        """Whether this rank writes files, logs and evaluates."""
        return self.rank == 0

    def rows(self, batch_size: int) -> slice:
        """Which rows of a batch are those of this rank."""
        if batch_size < self.world:
            raise ConfigError(f"train.batch_size = {batch_size} leaves some of {self.world} processes without a window")
        return slice(self.rank, None, self.world)

    def weighed(self, loss: Loss) -> Loss:
        """The part that this rank has in the loss of the batch: its means, by its share of the real steps."""
        if self.world == 1:
            return loss
        weight = torch.as_tensor(loss.weight, dtype=torch.float32, device=loss.total.device)
        share = weight / self.reduce(weight.clone()).clamp(min=1)
        parts = {name: share * value for name, value in loss.parts.items()}
        return Loss(total=share * loss.total, parts=parts, weight=loss.weight)

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Give every rank the gradients of the batch, in one message."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if self.world == 1 or not gradients:
            return
        flat = self.reduce(torch.cat([gradient.flatten() for gradient in gradients]))
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, summed in zip(gradients, parts, strict=True):
            gradient.copy_(summed.view_as(gradient))

    def fetch(self, own: Sequence[Tensor], common: Sequence[Tensor]) -> list[float]:
        """Scalars from their device in one transfer, since a GPU is waited for at each.

        `own` are summed over the ranks, `common` are the same on all.
        """
        numbers: list[float] = torch.cat([self.reduce(stacked(own)), stacked(common)]).tolist()
        return numbers

    def of_first(self, value: float) -> float:
        """What the first rank has found."""
        if self.world == 1:
            return value
        return float(self.reduce(torch.tensor(value if self.writes else 0.0, dtype=torch.float64)))

    def any(self, flag: bool) -> bool:
        """Whether it holds on some rank."""
        return flag if self.world == 1 else float(self.reduce(torch.tensor(float(flag)))) > 0

    def draw_apart(self, seed: int, step: int) -> None:
        """Let the ranks draw apart in a step, the same after any resume; the first goes on as it was."""
        if self.rank:
            drawn = np.random.SeedSequence([seed, step, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(drawn[0]) >> 1)

    def meet(self) -> None:
        """Go on when every rank is here."""
        self.any(False)

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """The first rank goes through the block, then the others do; what ends it there ends them before they begin."""
        if self.rank and self.any(False):
            raise LeftError
        try:
            yield
        except BaseException:
            if self.writes:
                self.any(True)
            raise
        if self.writes:
            self.any(False)


def stacked(values: Sequence[Tensor]) -> Tensor:
    """Scalars as one tensor of float32, which holds those of less precision as they are."""
    return torch.stack([value.detach().float().reshape(()) for value in values])
