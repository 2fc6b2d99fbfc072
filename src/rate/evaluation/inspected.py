"""What is seen of a policy in one episode, as plain values: what `inspection` gathers and a page shows."""

from __future__ import annotations

from dataclasses import dataclass

from rate.evaluation.intervals import Interval
from rate.types import Array


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Where the token that chooses the action looks, at every step."""

    layers: list[str]
    """Names of the attention modules."""
    weights: list[list[Array]]
    """Step, layer -> (heads, slots)."""
    slots: list[tuple[int, int, int, int]]
    """Of every step how many slots are cache, a privileged fact, memory and tokens of steps, in this order."""
    kinds: list[str]
    """The tokens of a step in their order."""
    observed: int
    """The place of the observation among them: the token that chooses, and the last that is looked at."""


@dataclass(frozen=True, kw_only=True)
class MemoryCourse:
    """The rows of memory over the segments; memory 0 is the learnt start, update n makes memory n."""

    segment_len: int
    steps: list[int]
    """Before which step each update was made."""
    wrote: Array
    """(updates, rows): how far what a segment wrote is from what came in, relative to the length of that."""
    through: Array
    """(updates, rows): how far what the valve kept is from what it had kept if nothing new had been written, relative
    to the length of what it kept."""
    change: Array
    """(updates, rows): how far what it kept is from what came in, relative to the length of that."""
    rows_alike: Array
    """(updates + 1, rows, rows): cosines between the rows of one memory."""
    memories_alike: Array
    """(updates + 1, updates + 1): cosines between a row now and then, the mean over rows."""


@dataclass(frozen=True, kw_only=True)
class MemoryNow:
    """Memory at one step of an episode, and what the border of segments before it did."""

    segment: int
    """From 1."""
    step: int
    """Of the segment, from 1; 0 before the first action."""
    segment_len: int
    rows: Array
    """(rows, width): what the action of this step was chosen with."""
    row_changes: Array
    """(rows,): how far each row is from what it was before the last border, relative to the length of that; 0 in the
    first segment."""
    changes: tuple[float, ...]
    """The same for the whole memory, of every border so far."""

    @property
    def at_border(self) -> bool:
        """Whether memory changed at this step."""
        return self.step == 1 and self.segment > 1


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How well a probe knows a fact, step by step."""

    of: str
    """What it reads: memory, or hidden (the vector from which the action is predicted)."""
    steps: list[int]
    accuracy: list[Interval]
    guesses: list[str | None]
    """In the episode that is shown; None where that is over."""


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What probes of one fact found."""

    fact: str
    values: list[str]
    chance: float
    """How often the most frequent value is right."""
    learnt_from: int
    judged_on: int
    curves: list[Curve]


@dataclass(frozen=True, kw_only=True)
class Inspected:
    """One episode of one policy, T steps."""

    pictures: list[str | Array]
    """(T + 1) what the environment draws, or the observation as text."""
    told: list[str]
    """(T + 1) the observation as text."""
    actions: list[str]
    rewards: list[float]
    probabilities: list[list[list[float]]]
    """Step, component, choice; no component where actions are numbers."""
    success: bool | None
    fact: str | None
    """The value of the probed fact in this episode."""
    carries_memory: bool
    """Whether memory embeddings go from segment to segment."""
    attention: Attention | None
    """None where no attention tells its weights."""
    memory: MemoryCourse | None
    """None where there is none, or no segment was completed."""
    knowledge: Knowledge | None = None
