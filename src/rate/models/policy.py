"""SequencePolicy: the one protocol that every model follows.

A model is trained by `forward` over segments and acts by `step`. Where a window is one segment (`segment_len` None),
`forward` carries nothing past its end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from rate.errors import ConfigError
from rate.models.config import MODELS, ModelConfig, check_choice, check_heads, check_share, check_sizes
from rate.nn.heads import build_head
from rate.nn.kinds import HeadKind
from rate.nn.tokens import Tokens
from rate.nn.unit import Unit
from rate.registry import CONFIG_CLASSES
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
    "with_others",
]

S = TypeVar("S")


class SequencePolicy(nn.Module, ABC, Generic[S]):
    """Maps past returns-to-go, observations and actions to the next action.

    The state is a tree of tensors, batch-first, of a size that does not grow with the horizon. `step` may write into
    the state that it is given: use only the state that it returns, and clone one to branch from it.
    """

    context: int | None
    """How many of the last steps `step` can see; None: all, through the carried state."""
    tokens: Tokens
    action_unit: Unit | None
    """In which the head predicts, where that is fitted to the data."""
    trained: float = 1.0
    """Share of its training that is behind it; the trainer sets it, for what changes on the way."""
    takes_oracle: bool = False
    """Whether it takes the privileged fact of its spaces as an input."""

    def __init__(self, spaces: Spaces, width: int, head: HeadKind = "imitation") -> None:
        super().__init__()
        self.spaces = spaces
        self.head = build_head(spaces.action, head)
        self.readout = nn.Linear(width, self.head.size, bias=False)
        self.action_unit = None

    def take(self, tokens: Tokens) -> None:
        """Read these tokens, and predict actions in the units in which they tell them."""
        self.tokens = tokens
        self.action_unit = self.head.in_units() if tokens.config.encoder.normalises else None

    @property
    def segment_len(self) -> int | None:
        """K: steps per call of `forward`; None: the whole window is one segment."""
        return None

    @property
    def cache_tokens(self) -> int:
        """Hidden states of earlier segments that it keeps."""
        return 0

    @abstractmethod
    def initial_state(self, batch: int) -> S:
        """The state before the first step of an episode."""

    def resegment(self, steps: int | None = None, cache: int | None = None) -> None:
        """Segments of so many steps and a cache of so many tokens from now on, where it has them; None: as now."""
        raise ConfigError(f"{type(self).__name__} has no segments, and no cache, whose length could be changed")

    @contextmanager
    def segments_of(self, steps: int | None, cache: int | None = None) -> Iterator[None]:
        """Segments of so many steps and a cache of so many tokens inside of the block; None: as it has them."""
        own = self.segment_len, self.cache_tokens
        wanted = own[0] if steps is None else steps, own[1] if cache is None else cache
        if wanted == own:
            yield
            return
        self.resegment(*wanted)
        try:
            yield
        finally:
            self.resegment(*own)

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
    policy: SequencePolicy[S],
    window: Segment,
    bptt_segments: int | None = None,
    recompute: bool = False,
    action_noise: float = 0.0,
    drawn_borders: bool = False,
) -> Output:
    """Run a window segment by segment; gradients cross at most `bptt_segments` segments (None: all of them).

    With `recompute`, backward runs each segment again instead of keeping its activations: a third more time, and the
    memory of one segment however long the window. With `action_noise`, a share of the past actions is shown wrong.
    With `drawn_borders`, the first segment may be shorter than the others, so that all borders move. All of this, and
    the borders that gradients do not cross, is drawn anew in each call, in training only.
    """
    if policy.training and action_noise:
        window = replace(window, action=with_others(window.action, window.mask, action_noise))
    first = _first_length(policy, len(window)) if policy.training and drawn_borders else None
    segments = list(window.split(policy.segment_len, first))
    reach = min(bptt_segments or len(segments), len(segments))
    shift = int(torch.randint(reach, ())) if policy.training and 1 < reach < len(segments) else 0
    state = policy.initial_state(window.mask.shape[0])
    predictions: list[Tensor] = []
    for index, segment in enumerate(segments):
        if index and reach < len(segments) and (index + shift) % reach == 0:
            state = tree_map(Tensor.detach, state)
        run = partial(_run, policy, None if index else first)
        output, state = checkpoint(run, segment, state, use_reentrant=False) if recompute else run(segment, state)
        predictions.append(output.prediction)
    return Output(prediction=torch.cat(predictions, 1))


def _first_length(policy: SequencePolicy[Any], steps: int) -> int | None:
    """Steps of the first segment: as many as of the others half of the time, else any number below; None: all alike."""
    length = policy.segment_len
    if length is None or not 1 < length < steps:
        return None
    return min(length, int(torch.randint(1, 2 * length, ())))


def _run(policy: SequencePolicy[S], steps: int | None, segment: Segment, state: S) -> tuple[Output, S]:
    """One segment, in slots for so many steps; None: as the policy has them. What backward runs again does the same."""
    if steps is None:
        return policy(segment, state)  # type: ignore[no-any-return]
    with policy.segments_of(steps):
        return policy(segment, state)  # type: ignore[no-any-return]


def with_others(action: Tensor, mask: Tensor, share: float) -> Tensor:
    """The actions (B, T, ...) with a share of them replaced by actions of other real steps of the batch, at random.

    They are of the space whatever it is, and as frequent as the mistakes of a policy that guesses.
    """
    real = action[mask]
    if not len(real):
        return action
    drawn = torch.randint(len(real), mask.shape, device=action.device)
    wrong = torch.rand(mask.shape, device=action.device) < share
    return torch.where(wrong.view(*mask.shape, *[1] * (action.dim() - 2)), real[drawn], action)
