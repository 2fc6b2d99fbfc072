"""Interventions: an actor acts while something in its policy is changed or watched (the paper's RQ1).

What a segment hands to the next passes one place of a segment policy; there it is mixed with noise, or with what
another episode carries. Noise is standard normal, as the paper's and as memory is before training.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module
from torch.utils.hooks import RemovableHandle

from rate.errors import ConfigError
from rate.models.acting import INTERVENTIONS, read_intervention
from rate.models.actor import Actor
from rate.models.policies.segment import Carried, SegmentPolicy
from rate.models.policy import SequencePolicy
from rate.nn.attention import Attention
from rate.nn.memory import Valve


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When a hook is called: in which episodes, at which of their steps."""

    episodes: NDArray[np.int64]
    """What tells the rows apart: the seeds of their episodes."""
    timestep: int
    seed: int

    def noise(self, like: Tensor, name: str) -> Tensor:
        """Standard normal numbers of a shape (B, ...), a function of seed, name, episode and step: no batch matters."""
        key, shape = zlib.crc32(name.encode()), tuple(like.shape[1:])
        rows = [np.random.default_rng([self.seed, key, episode, self.timestep]) for episode in self.episodes.tolist()]
        drawn = np.stack([row.standard_normal(shape, dtype=np.float32) for row in rows])
        return torch.as_tensor(drawn, dtype=like.dtype, device=like.device)


class Intervention(ABC):
    """Something that is changed or watched while a policy acts. One that is registered is built from its strength."""

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def check(self, policy: SequencePolicy[Any]) -> None:  # noqa: B027  (any policy will do, unless one says otherwise)
        """Raise ConfigError if there is nothing in the policy that it could act on."""

    @abstractmethod
    def attach(self, policy: SequencePolicy[Any], now: Callable[[], Moment]) -> Sequence[RemovableHandle]:
        """Hook into the policy; `now` says, inside of a hook, which episodes are being run."""


@contextmanager
def intervene(actor: Actor, *interventions: Intervention | str, seed: int = 0) -> Iterator[None]:
    """Inside of this block the actor's policy acts under interventions, such as "memory-noise=0.5"."""

    def now() -> Moment:
        cohort = actor.cohort
        assert cohort is not None, "a hook was called while the actor did not act"
        return Moment(episodes=cohort.episodes.numpy(), timestep=cohort.timestep, seed=seed)

    with ExitStack() as hooks:
        for one in interventions:
            made = read_intervention(one)[1] if isinstance(one, str) else one
            made.check(actor.policy)
            for handle in made.attach(actor.policy, now):
                hooks.callback(handle.remove)
        yield


class Handover(Intervention):
    """Changes what one segment hands to the next."""

    part: str
    """memory or cache: what the policy must carry."""

    def check(self, policy: SequencePolicy[Any]) -> None:
        if not isinstance(policy, SegmentPolicy) or not getattr(policy.slots, self.part):
            raise ConfigError(f"this model carries no {self.part} from segment to segment to intervene on")

    def attach(self, policy: SequencePolicy[Any], now: Callable[[], Moment]) -> Sequence[RemovableHandle]:
        assert isinstance(policy, SegmentPolicy)
        return [policy.carry.register_forward_hook(lambda place, given, carried: self.change(carried, now()))]

    @abstractmethod
    def change(self, carried: Carried, at: Moment) -> Carried:
        """What is handed over instead."""


class Mixed(Handover):
    """What is carried becomes (1 - strength) of itself and strength of something else."""

    def __init__(self, strength: float = 1.0) -> None:
        super().__init__(strength)
        if not 0 <= strength <= 1:
            raise ConfigError(f"the strength of an intervention is {strength:g}; it must be between 0 and 1")

    def change(self, carried: Carried, at: Moment) -> Carried:
        if self.part == "memory":  # of which the cell of a valve is a part
            return replace(
                carried, memory=self._mix(carried.memory, at, "memory"), cell=self._mix(carried.cell, at, "cell")
            )
        mixed = (self._mix(rows, at, f"cache {layer}") for layer, rows in enumerate(carried.cache))
        return replace(carried, cache=tuple(mixed))

    def _mix(self, x: Tensor, at: Moment, name: str) -> Tensor:
        if self.strength == 0:
            return x
        other = self.other(x, at, name)
        return other if self.strength == 1 else (1 - self.strength) * x + self.strength * other

    @abstractmethod
    def other(self, x: Tensor, at: Moment, name: str) -> Tensor:
        """What is mixed in, of the shape of x."""


class Noise(Mixed):
    def other(self, x: Tensor, at: Moment, name: str) -> Tensor:
        return at.noise(x, name)


class Swap(Mixed):
    """What the episode before it in the batch carries; the first takes that of the last.

    Once, at the end of the first segment: swapped at every one, it would wander and at times come back.
    """

    def __init__(self, strength: float = 1.0) -> None:
        super().__init__(strength)
        self._last: dict[str, tuple[NDArray[np.int64], Tensor]] = {}

    def attach(self, policy: SequencePolicy[Any], now: Callable[[], Moment]) -> Sequence[RemovableHandle]:
        self._first = policy.segment_len
        return super().attach(policy, now)

    def change(self, carried: Carried, at: Moment) -> Carried:
        return super().change(carried, at) if at.timestep == self._first else carried

    def other(self, x: Tensor, at: Moment, name: str) -> Tensor:
        if len(x) > 1:
            self._last[name] = at.episodes, x
            return x.roll(1, 0)
        # Alone, as the others have ended: what was carried in a batch before.
        episodes, known = self._last.get(name, (at.episodes, x))
        others = np.flatnonzero(episodes != at.episodes[0])
        if not others.size:
            raise ConfigError("to swap what episodes carry takes at least two of them in a batch; give a larger batch")
        return known[others[:1]]


@INTERVENTIONS.register("memory-noise")
class MemoryNoise(Noise):
    """memory = (1 - a) memory + a noise, after every segment."""

    part = "memory"


@INTERVENTIONS.register("cache-noise")
class CacheNoise(Noise):
    """The same for the cached hidden states of every layer."""

    part = "cache"


@INTERVENTIONS.register("memory-swap")
class MemorySwap(Swap):
    """memory = (1 - a) memory + a (memory of another episode), after the first segment."""

    part = "memory"


@INTERVENTIONS.register("cache-swap")
class CacheSwap(Swap):
    """The same for the cached hidden states of every layer."""

    part = "cache"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One value that was watched."""

    where: str
    """`memory`, `hidden`, `prediction`, `valve`, or the name of an attention module."""
    at: Moment
    value: Tensor
    """Memory that is carried on, (B, M, D); the hidden vector from which an action is predicted, (B, D), and the
    prediction; the memories of a valve (B, 4, M, D): incoming, written, kept, and kept had nothing new been written;
    or attention weights, (B, heads, new tokens, slots that they look at)."""


class Recorder(Intervention):
    """Changes nothing, and keeps what it sees in `seen`, by default the memory after every segment."""

    def __init__(
        self, *, memory: bool = True, attention: bool = False, hidden: bool = False, valve: bool = False
    ) -> None:
        super().__init__()
        self.memory, self.attention, self.hidden, self.valve = memory, attention, hidden, valve
        self.seen: list[Seen] = []

    def of(self, where: str) -> list[Seen]:
        """What was seen in one place, in the order of time."""
        return [one for one in self.seen if one.where == where]

    def attach(self, policy: SequencePolicy[Any], now: Callable[[], Moment]) -> Sequence[RemovableHandle]:
        def keep(where: str, value: Tensor) -> None:
            self.seen.append(Seen(where=where, at=now(), value=value.detach().cpu().clone()))

        def attended(where: str) -> Callable[..., None]:
            return lambda place, given, mixed: keep(where, place.weights(*given))

        def read_out(place: Module, given: tuple[Tensor], prediction: Tensor) -> None:
            keep("hidden", given[0])
            keep("prediction", prediction)

        def updated(place: Valve, given: tuple[Tensor, Tensor, Tensor], kept: tuple[Tensor, Tensor]) -> None:
            incoming, written, cell = given
            idle = place.forward(incoming, incoming, cell)[0]  # by the method: no hook fires
            keep("valve", torch.stack([incoming, written, kept[0], idle], 1))

        handles = []
        if self.memory and isinstance(policy, SegmentPolicy):
            hook = policy.carry.register_forward_hook(lambda place, given, carried: keep("memory", carried.memory))
            handles.append(hook)
        if self.valve and isinstance(policy, SegmentPolicy):
            handles.append(policy.valve.register_forward_hook(updated))
        if self.hidden:
            handles.append(policy.readout.register_forward_hook(read_out))
        if self.attention:
            places = [(name, part) for name, part in policy.named_modules() if isinstance(part, Attention)]
            handles += [part.register_forward_hook(attended(name)) for name, part in places]
        return handles
