"""Form: a policy as functions of tensors alone, the same weights and the same arithmetic as its `step`.

The state is a dictionary of tensors of fixed shapes; the place in the episode is a tensor too, so that one graph serves
every step. What belongs to the border of a segment is a second function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypeAlias

from torch import Tensor

from rate.errors import ConfigError
from rate.models.policy import SequencePolicy
from rate.types import Tree

State: TypeAlias = dict[str, Tensor]
"""Name to tensor, batch-first."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a graph is given of one environment step: `Inputs`, but all of it tensors."""

    observation: Tree
    previous_action: Tensor | None
    """At the first step any action of the space: what it stands for is left out. None: the policy takes none."""
    return_to_go: Tensor | None
    timestep: Any
    """(), int64; the tokens of a policy take it as they take a number."""
    oracle: Tree = None


class Form(ABC):
    """What is traced of a policy."""

    segment: int | None = None
    """Steps after which `border` is run; None: there is no border."""
    in_place: frozenset[str] = frozenset()
    """States that `step` only adds rows to: old and new may share memory."""

    @abstractmethod
    def start(self) -> State:
        """The state before the first step of one episode."""

    @abstractmethod
    def step(self, x: Given, state: State) -> tuple[Tensor, State]:
        """The prediction, and the parts of the state that change."""

    def border(self, x: Given, state: State) -> State:
        """Between the last step of a segment and the next one: of the states that change, the first rows."""
        return {}  # without segments nothing does


@singledispatch
def form_of(policy: SequencePolicy[Any]) -> Form:
    """The form of a policy; register one for a policy of your own with `form_of.register`."""
    raise ConfigError(
        f"{type(policy).__name__} cannot be exported: nobody has written its step as a function of tensors; "
        "register one with rate.export.form_of.register"
    )
