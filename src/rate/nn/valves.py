"""The valves by name and what they are made of; the networks themselves are in `nn/memory.py`.

They are imported when one is built, so that a name can be checked and listed without torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rate.nn.kinds import ValveStart
from rate.registry import Registry

if TYPE_CHECKING:
    from rate.nn.memory import Valve


@dataclass(frozen=True, kw_only=True)
class ValveConfig:
    """Sizes of a valve; only those that attend use more than the width."""

    width: int
    heads: int = 1
    activation: str = "relu"
    """On the written memory, before the attention reads it."""
    feed_forward: int = 0
    """Inner width of the feed-forward network behind the attention; 0 leaves it out."""
    rows: int = 0
    """M: memory tokens, for what is learned per pair of them."""
    bias: float = 0.0
    """Where the learned bias of a row's score for its own successor starts; 0: there is none."""
    start: ValveStart = "random"
    """`random`: as torch initialises; `aligned`: W_V W_M = 1 and no offsets, so kept rows are mixes of written ones."""


VALVES: Registry[type[Valve]] = Registry("valve", "rate list valves")
"""Name to class."""

VALVES.announce("VALVES", "rate.nn.memory")
