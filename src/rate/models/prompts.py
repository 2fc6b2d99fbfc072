"""Prompts: which return-to-go an acting policy is shown.

It is asked for a target; what is left of it, or the target anew, is shown at every step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from rate.errors import ConfigError
from rate.models.acting import PROMPTS
from rate.models.policy import SequencePolicy
from rate.nn.tokens import Tokens


class Prompt(ABC):
    """Built for a policy; called before each step with what is left of the target, and gives what is shown of it.

    What it gives is also what the next rewards are taken from.
    """

    asks = True
    """Whether a return is asked for; without, no target is needed."""

    def __init__(self, policy: SequencePolicy[Any]) -> None:
        self.policy = policy

    @abstractmethod
    def __call__(self, left: Tensor, target: float, timestep: int) -> Tensor:
        """(B,) -> (B,); both are divided by the scale of returns."""


@PROMPTS.register("countdown")
class Countdown(Prompt):
    """The target less the rewards so far, as in the data."""

    def __call__(self, left: Tensor, target: float, timestep: int) -> Tensor:
        return left


@PROMPTS.register("constant")
class Constant(Prompt):
    """The target at every step."""

    def __call__(self, left: Tensor, target: float, timestep: int) -> Tensor:
        return torch.full_like(left, target)


@PROMPTS.register("per-segment")
class PerSegment(Prompt):
    """A countdown that begins anew with the target in every segment: the paper's evaluation on MuJoCo."""

    def __init__(self, policy: SequencePolicy[Any]) -> None:
        super().__init__(policy)
        if policy.segment_len is None:
            raise ConfigError("the prompt per-segment needs a policy with segments; take countdown or constant")

    def __call__(self, left: Tensor, target: float, timestep: int) -> Tensor:
        # Read at each step: a policy can be cut into segments of another length.
        return left if timestep % (self.policy.segment_len or 1) else torch.full_like(left, target)


@PROMPTS.register("none")
class NoReturn(Prompt):
    """Nothing is asked for: of a policy whose steps have no token for the return."""

    asks = False

    def __init__(self, policy: SequencePolicy[Any]) -> None:
        super().__init__(policy)
        if any(isinstance(part, Tokens) and part.returns is not None for part in policy.modules()):
            raise ConfigError("the prompt none is for policies without return tokens; this one was trained with them")

    def __call__(self, left: Tensor, target: float, timestep: int) -> Tensor:
        return torch.zeros_like(left)
