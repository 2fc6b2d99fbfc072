"""SequencePolicy: the one protocol that every model follows, and the registry of models.

A model is trained by `forward` over segments and acts by `step`. Where a window is one segment (`segment_len` None),
`forward` carries nothing past its end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar, get_args

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from rate.errors import ConfigError
from rate.nn.encoders import EARLIER, EncoderConfig
from rate.nn.heads import HeadKind, build_head
from rate.registry import CONFIG_CLASSES, Registry
from rate.serial import ABSENT
from rate.types import Inputs, Output, Segment, Spaces, tree_map

__all__ = [
    "CONFIG_CLASSES",
    "MODELS",
    "ModelConfig",
    "SequencePolicy",
    "check_choice",
    "check_heads",
    "check_share",
    "check_sizes",
    "unroll",
]

S = TypeVar("S")


class SequencePolicy(nn.Module, ABC, Generic[S]):
    """Maps past returns-to-go, observations and actions to the next action.

    The state is a tree of tensors, batch-first, of a size that does not grow with the horizon. `step` may write into
    the state that it is given: use only the state that it returns, and clone one to branch from it.
    """

    segment_len: int | None
    """K: steps per call of `forward`; None: the whole window is one segment."""
    context: int | None
    """How many of the last steps `step` can see; None: all, through the carried state."""
    told: bool = False
    """Whether it is told the privileged fact of its spaces."""

    def __init__(self, spaces: Spaces, width: int, head: HeadKind = "imitation") -> None:
        super().__init__()
        self.spaces = spaces
        self.head = build_head(spaces.action, head)
        self.readout = nn.Linear(width, self.head.size, bias=False)

    @abstractmethod
    def initial_state(self, batch: int) -> S:
        """The state before the first step of an episode."""

    def resegment(self, steps: int) -> None:
        """Cut into segments of so many steps from now on, where the model has segments."""
        raise ConfigError(f"{type(self).__name__} has no segments that could be made {steps} steps long")

    @abstractmethod
    def forward(self, segment: Segment, state: S) -> tuple[Output, S]:
        """Training: predictions for every step of a segment whose actions are known."""

    @abstractmethod
    def step(self, x: Inputs, state: S) -> tuple[Output, S]:
        """Acting: the prediction for one environment step."""

    @property
    def device(self) -> torch.device:
        return self.readout.weight.device

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


def unroll(
    policy: SequencePolicy[S], window: Segment, bptt_segments: int | None = None, recompute: bool = False
) -> Output:
    """Run a window segment by segment; gradients cross at most `bptt_segments` segments (None: all of them).

    With `recompute`, backward runs each segment again instead of keeping its activations: a third more time, and the
    memory of one segment however long the window.
    """
    state = policy.initial_state(window.mask.shape[0])
    predictions: list[Tensor] = []
    for index, segment in enumerate(window.split(policy.segment_len)):
        if bptt_segments and index and index % bptt_segments == 0:
            state = tree_map(Tensor.detach, state)
        run = partial(checkpoint, policy, use_reentrant=False) if recompute else policy
        output, state = run(segment, state)
        predictions.append(output.prediction)
    return Output(prediction=torch.cat(predictions, 1))


@dataclass(frozen=True, kw_only=True)
class ModelConfig(ABC):
    """What a model is made of. Sizes that the data decides (spaces) are not configuration."""

    name: str
    """The name under which the model is registered and reported."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig, metadata={ABSENT: EARLIER})
    """How observations become tokens."""

    @abstractmethod
    def build(self, spaces: Spaces) -> SequencePolicy[Any]:
        """The policy with freshly initialised weights."""

    def check_window(self, window: int) -> None:  # noqa: B027  (any window will do, unless a model says otherwise)
        """Raise ConfigError if the model cannot be trained on windows of this many steps."""


def check_sizes(config: ModelConfig, *fields: str, least: int = 1) -> None:
    """Refuse what is too small."""
    for name in fields:
        if getattr(config, name) < least:
            raise ConfigError(f"model.{name} is {getattr(config, name)}; it must be at least {least}")


def check_share(config: ModelConfig, *fields: str) -> None:
    """Refuse what is no probability below 1."""
    for name in fields:
        if not 0 <= getattr(config, name) < 1:
            raise ConfigError(f"model.{name} is {getattr(config, name)}; it must be at least 0 and below 1")


def check_heads(heads: int, kv_heads: int, head_width: int) -> None:
    """Refuse query heads that cannot share the key heads, and heads that cannot be turned."""
    if heads % kv_heads:
        raise ConfigError(f"model.heads = {heads} is not a multiple of model.kv_heads = {kv_heads}")
    if head_width % 2:
        raise ConfigError(f"model.head_width = {head_width} must be even (rotary positions turn pairs)")


def check_choice(config: ModelConfig, field: str, kind: Any) -> None:
    """Refuse what the Literal does not name."""
    if getattr(config, field) not in get_args(kind):
        raise ConfigError(f"model.{field} is {getattr(config, field)!r}; it must be {' or '.join(get_args(kind))}")


MODELS: Registry[Callable[..., ModelConfig]] = Registry("model")
"""Name to a function (window, **fields) -> config: the preset of the model for windows of that many steps."""
