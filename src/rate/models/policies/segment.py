"""Segment recurrence, section 3 of the paper: memory before and after each segment, cached hidden states, a valve.

Training runs a segment at once. Acting runs the new tokens only and writes memory when a segment is complete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from rate.models.policy import SequencePolicy
from rate.nn.memory import Valve
from rate.nn.noise import MemoryNoise
from rate.nn.tokens import Tokens, TokensConfig
from rate.nn.transformer import SlotBuffers, Transformer, TransformerConfig
from rate.types import Inputs, Output, Segment, Spaces


@dataclass(frozen=True, kw_only=True)
class Slots:
    """The row of slots that a segment is laid out in: [cache | memory (read) | tokens | memory (write)]."""

    cache: int
    memory: int
    steps: int
    per_step: int = 3
    """Tokens of a step."""

    @property
    def tokens(self) -> int:
        """First token slot."""
        return self.cache + self.memory

    @property
    def write(self) -> int:
        """First slot of the memory that is written."""
        return self.tokens + self.per_step * self.steps

    @property
    def segment(self) -> int:
        """Slots of one segment, cache apart: with three tokens per step, 3K + 2m."""
        return self.per_step * self.steps + 2 * self.memory

    def visible(self) -> Tensor:
        """(slots, slots): who may look at whom. Memory looks at memory in both directions and never at the cache."""
        total, first, tokens, write = self.cache + self.segment, self.cache, self.tokens, self.write
        mask = torch.zeros(total, total, dtype=torch.bool)
        mask[first:tokens, first:tokens] = True
        mask[tokens:write, :tokens] = True
        mask[tokens:write, tokens:write] = torch.ones(write - tokens, write - tokens).tril().bool()
        mask[write:, first:] = True
        return mask


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The open segment while acting."""

    buffers: SlotBuffers
    position: int
    """Steps of the open segment seen so far."""


@dataclass(frozen=True, kw_only=True)
class SegmentState:
    """What is carried from segment to segment, and the open segment while acting."""

    memory: Tensor
    """(B, M, D)"""
    cell: Tensor
    """(B, M, valve.extra): what the valve carries besides the memory."""
    cache: tuple[Tensor, ...]
    """Per layer (B, cache, D), the newest at the end; while acting it lies in the stream's buffers instead."""
    cached: int
    """How many of the cache's rows are filled."""
    stream: Stream | None


@dataclass(frozen=True, kw_only=True)
class Carried:
    """What one segment hands to the next."""

    memory: Tensor
    cell: Tensor
    cache: tuple[Tensor, ...]


class Carry(nn.Module):
    """The place where a segment hands over to the next: nothing happens here unless a hook changes or watches it."""

    def forward(self, carried: Carried) -> Carried:
        return carried


class SegmentPolicy(SequencePolicy[SegmentState]):
    """A transformer over one segment at a time that reads from and writes to a small memory."""

    context = None

    def __init__(
        self,
        spaces: Spaces,
        slots: Slots,
        tokens: TokensConfig,
        transformer: TransformerConfig,
        valve: Valve,
        noise: MemoryNoise,
    ) -> None:
        super().__init__(spaces, transformer.width)
        self.slots = slots
        self.noise = noise
        self.take(Tokens(spaces, tokens))
        self.transformer = Transformer(transformer, slots.visible())
        # Differs from the paper: independent rows. Tokens that start alike are served alike and stay alike.
        self.memory = nn.Parameter(torch.randn(slots.memory, transformer.width))
        self.valve = valve
        self.carry = Carry()

    @property
    def segment_len(self) -> int:
        return self.slots.steps

    @property
    def cache_tokens(self) -> int:
        return self.slots.cache

    def resegment(self, steps: int | None = None, cache: int | None = None) -> None:
        """Segments of so many steps and a cache of so many tokens from now on; the weights serve any. None: as now."""
        slots = self.slots
        self.slots = replace(slots, steps=steps or slots.steps, cache=slots.cache if cache is None else cache)
        self.transformer.lay_out(self.slots.visible())

    def initial_state(self, batch: int) -> SegmentState:
        config, cache = self.transformer.config, self.slots.cache
        empty = (self.memory.new_zeros(batch, cache, config.width) for _ in range(config.layers if cache else 0))
        memory = self.memory.expand(batch, -1, -1)
        cell = self.memory.new_zeros(batch, self.slots.memory, self.valve.extra)
        return SegmentState(memory=memory, cell=cell, cache=tuple(empty), cached=0, stream=None)

    def forward(self, segment: Segment, state: SegmentState) -> tuple[Output, SegmentState]:
        if state.stream is not None:
            raise ValueError("this state is in the middle of acting; `forward` starts at a segment's first step")
        slots, length = self.slots, len(segment)
        tokens = self.tokens(segment)
        # Differs from the paper: a segment that is not complete writes no memory, in training as in acting.
        complete = length == slots.steps
        sequence = torch.cat([state.memory, tokens, state.memory] if complete else [state.memory, tokens], 1)
        cache = [rows[:, slots.cache - state.cached :] for rows in state.cache]
        behind = slots.memory + tokens.shape[1]
        observed = torch.arange(slots.memory + self.tokens.config.observed, behind, slots.per_step)  # the o_t
        wanted = torch.cat([observed, torch.arange(behind, sequence.shape[1])]).to(sequence.device)
        hidden, inputs = self.transformer(sequence, slots.cache, cache, wanted)
        written = hidden[:, length:]
        output = Output(prediction=self.readout(hidden[:, :length]))
        if not complete:
            return output, state
        return output, self._advance(state, written, inputs, segment.mask.all(1))

    def _advance(self, state: SegmentState, written: Tensor, inputs: list[Tensor], full: Tensor) -> SegmentState:
        """Carry memory and cache over; rows that end inside the segment keep theirs, as they do while acting."""
        rows = full[:, None, None]
        newest = (
            torch.cat([old, new.detach()], 1)[:, -self.slots.cache :]
            for old, new in zip(state.cache, inputs, strict=False)
        )
        carried = self._carried(state, written, tuple(newest))
        memory, cell = torch.where(rows, carried.memory, state.memory), torch.where(rows, carried.cell, state.cell)
        cache = tuple(torch.where(rows, new, old) for new, old in zip(carried.cache, state.cache, strict=True))
        return replace(state, memory=memory, cell=cell, cache=cache, cached=self._cached_next(state))

    def _carried(self, state: SegmentState, written: Tensor, cache: tuple[Tensor, ...]) -> Carried:
        kept, cell = self.valve(state.memory, written, state.cell)
        if self.training:  # Differs from the paper: there memory has no noise.
            kept = self.noise.added(kept, self.trained)
        carried: Carried = self.carry(Carried(memory=kept, cell=cell, cache=cache))
        return carried

    def _cached_next(self, state: SegmentState) -> int:
        return min(self.slots.cache, state.cached + self.slots.segment)

    @torch.no_grad()
    def step(self, x: Inputs, state: SegmentState) -> tuple[Output, SegmentState]:
        stream = state.stream or self._open(state)
        if stream.position == self.slots.steps:
            state = self._close(x, state, stream.buffers)
            stream = replace(stream, position=0)
        prompt = self.tokens.prompt(x)
        if stream.position == 0:
            start, new = self.slots.cache, torch.cat([state.memory, torch.stack(prompt, 1)], 1)
        else:
            past = self.tokens.previous(x)
            start = self.slots.tokens + self.slots.per_step * stream.position - len(past)
            new = torch.stack([*past, *prompt], 1)
        hidden = self.transformer.extend(new, start, self.slots.cache - state.cached, stream.buffers)
        stream = replace(stream, position=stream.position + 1)
        return Output(prediction=self.readout(hidden[:, -1])), replace(state, cache=(), stream=stream)

    def _open(self, state: SegmentState) -> Stream:
        """Preallocate the buffers of acting and bring the cache into them."""
        buffers = self.transformer.buffers_for(len(state.memory), keep_hidden=self.slots.cache > 0)
        for rows, cached in zip(buffers.hidden, state.cache, strict=False):
            rows[:, : self.slots.cache] = cached
        if state.cached:
            self.transformer.load_cache(self.slots.cache, self.slots.cache - state.cached, buffers)
        return Stream(buffers=buffers, position=0)

    def _close(self, x: Inputs, state: SegmentState, buffers: SlotBuffers) -> SegmentState:
        """The segment's last action is known: write memory from all its tokens, exactly as in training."""
        slots, past = self.slots, self.tokens.previous(x)
        last = torch.cat([*(token[:, None] for token in past), state.memory], 1)
        hidden = self.transformer.extend(last, slots.write - len(past), slots.cache - state.cached, buffers)
        newest = tuple(rows[:, slots.segment :].clone() for rows in buffers.hidden)
        carried = self._carried(state, hidden[:, len(past) :], newest)
        for rows, cached in zip(buffers.hidden, carried.cache, strict=True):
            rows[:, : slots.cache] = cached
        state = replace(state, memory=carried.memory, cell=carried.cell, cached=self._cached_next(state))
        if state.cached:
            self.transformer.load_cache(slots.cache, slots.cache - state.cached, buffers)
        return state


def carries_memory(policy: SequencePolicy[Any]) -> TypeGuard[SegmentPolicy]:
    """Whether memory embeddings go from segment to segment."""
    return isinstance(policy, SegmentPolicy) and policy.slots.memory > 0
