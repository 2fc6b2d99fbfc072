"""What the slots are that attention looks at: [cache | fact | memory | tokens], up to the token of the observation."""

from __future__ import annotations

from typing import Any, NamedTuple

from rate.models.policies.segment import SegmentPolicy
from rate.models.policy import SequencePolicy


class LookedAt(NamedTuple):
    """How many slots are of each kind, in their order."""

    cache: int
    fact: int
    memory: int
    tokens: int
    """The last of them is the observation's; before it are the other tokens of its step and of those before."""


def looked_at(policy: SequencePolicy[Any], timestep: int, slots: int) -> LookedAt:
    """What so many slots are at a step of the episode."""
    tokens, length = policy.tokens.config, policy.segment_len
    memory, fact = policy.slots.memory if isinstance(policy, SegmentPolicy) else 0, int(policy.takes_oracle)
    steps = timestep % length if length else timestep  # of the open segment, before this one
    seen = min(tokens.per_step * steps + tokens.observed + 1, slots - memory - fact)
    return LookedAt(cache=slots - fact - memory - seen, fact=fact, memory=memory, tokens=seen)


def token_kinds(policy: SequencePolicy[Any]) -> list[str]:
    """The tokens of a step in their order."""
    config = policy.tokens.config
    return [*(["return"] if config.returns else []), "observation", *(["action"] if config.actions else [])]
