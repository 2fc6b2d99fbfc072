"""The form of segment recurrence: keys and values of every layer are kept, and only the new tokens of a step are run.

Places of what is kept: [cache | memory | an action that is not there | tokens]. Every step runs as many tokens; at
the first of a segment the action before them belongs to the segment before, so its place is hidden from all.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from rate.export.form import Form, Given, State, form_of
from rate.export.layers import HIDDEN, Layers
from rate.export.operators import written
from rate.models.policies.segment import SegmentPolicy


@form_of.register(SegmentPolicy)
class SegmentForm(Form):
    """States: `memory` and `cell`; per layer `key`, `value` and, with a cache, `hidden`, the inputs of the layer."""

    def __init__(self, policy: SegmentPolicy) -> None:
        self.policy, self.slots, self.layers = policy, policy.slots, Layers(policy.transformer)
        self.segment = self.slots.steps
        self.absent = policy.tokens.config.unknown
        self.places = self.slots.tokens + self.slots.per_step * self.slots.steps
        self.kept = ("key", "value", "hidden") if self.slots.cache else ("key", "value")
        self.in_place = frozenset(f"{name}.{index}" for name in self.kept for index in range(len(self.layers.all)))
        # Tables are made here: what is made in a traced function becomes a part of the graph.
        self.hidden = torch.zeros(self.places)
        self.hidden[self.slots.tokens : self.slots.tokens + self.absent] = HIDDEN
        self.last_bias = torch.zeros(self.count, self.places + self.count)
        self.last_bias[self.absent :, : self.slots.cache] = HIDDEN
        self.last_bias[: self.absent, self.places + self.absent :] = HIDDEN
        self.no_cell = torch.zeros(1, self.slots.memory, 0)

    @property
    def count(self) -> int:
        """Tokens that are run at a border: the last action, and the memory that is written."""
        return self.absent + self.slots.memory

    def start(self) -> State:
        begun = self.policy.initial_state(1)
        rest = (0, 0, 0, self.places - self.slots.tokens)
        opened = {name: F.pad(rows, rest) for name, rows in self._open(begun.memory, begun.cache).items()}
        return {**self._carried(begun.memory, begun.cell), **opened}

    def _carried(self, memory: Tensor, cell: Tensor) -> State:
        """Those of the two that this policy has."""
        has_cell = self.slots.memory > 0 and self.policy.valve.extra > 0
        return {**({"memory": memory} if self.slots.memory else {}), **({"cell": cell} if has_cell else {})}

    def step(self, x: Given, state: State) -> tuple[Tensor, State]:
        policy, layers, count = self.policy, self.layers, self.slots.per_step
        tokens = torch.stack([*policy.tokens.previous(x), *policy.tokens.prompt(x)], 1)  # type: ignore[arg-type]
        new = self.slots.tokens + count * (x.timestep % self.slots.steps) + torch.arange(count)
        bias = torch.where(torch.arange(self.places) <= new[:, None], self._visible(x.timestep), HIDDEN)
        bias, at, after = layers.spread(bias, count), _index(tokens, new), State()
        slots = at[..., 1] - self.absent
        for index, layer in enumerate(layers.all):
            query, key, value = layers.project(layer, tokens, slots)
            for name, rows in zip(self.kept, (key, value, tokens), strict=False):
                after[f"{name}.{index}"] = written(state[f"{name}.{index}"], at, rows)
            if layer is layers.all[-1]:  # of the top layer only the observation is asked
                tokens, query, bias, count = tokens[:, -1:], query[:, -1:], layers.last(bias), 1
            stored = after[f"key.{index}"], after[f"value.{index}"]
            tokens = layers.mix(layer, tokens, (query, count), *stored, bias)
        return policy.readout(policy.transformer.norm(tokens[:, 0])), after

    def _visible(self, timestep: Tensor) -> Tensor:
        """(places): zero, but hidden are the action that is not there, and rows of the cache that are not yet."""
        slots = self.slots
        if not slots.cache:
            return self.hidden
        cached = (timestep // slots.steps * slots.segment).clamp(max=slots.cache)
        return torch.where(torch.arange(self.places) < slots.cache - cached, HIDDEN, self.hidden)

    def border(self, x: Given, state: State) -> State:
        """The segment's last action is known: memory is written from all its tokens, and the next segment opened."""
        policy, slots, layers, count = self.policy, self.slots, self.layers, self.count
        past = policy.tokens.previous(x)  # type: ignore[arg-type]
        before = [state["memory"]] if slots.memory else []
        tokens = [torch.cat([*(token[:, None] for token in past), *before], 1)] if count else []
        bias = layers.spread(self.last_bias + F.pad(self._visible(x.timestep - 1), (0, count)), count)
        last, newest = [_slots(new, slots.write - self.absent, count) for new in tokens], list[Tensor]()
        for index, layer in enumerate(layers.all):
            rows = [state[f"hidden.{index}"]] if slots.cache else []
            newest += [self._newest(old, tokens) for old in rows]
            for new in tokens:
                query, key, value = layers.project(layer, new, *last)
                key, value = torch.cat([state[f"key.{index}"], key], 1), torch.cat([state[f"value.{index}"], value], 1)
                tokens = [layers.mix(layer, new, (query, count), key, value, bias)]
        kept = self._kept(state, policy.transformer.norm(tokens[0])) if slots.memory else {}
        return {**kept, **self._open(kept.get("memory"), tuple(newest))}

    def _kept(self, state: State, hidden: Tensor) -> State:
        """What the valve keeps of the memory that was, and of what the segment wrote."""
        cell = state.get("cell", self.no_cell)
        return self._carried(*self.policy.valve(state["memory"], hidden[:, self.absent :], cell))

    def _newest(self, hidden: Tensor, inputs: list[Tensor]) -> Tensor:
        """The newest inputs of a layer, as many as are cached; the place of the absent action is none of them."""
        tokens = self.slots.tokens
        rows = torch.cat([hidden[:, :tokens], hidden[:, tokens + self.absent :], *inputs], 1)
        return rows[:, -self.slots.cache :]

    def _open(self, memory: Tensor | None, cache: tuple[Tensor, ...]) -> State:
        """The first rows of what is kept: of the cache and of the memory that is read. The others are not seen yet."""
        layers, slots, x, state = self.layers, self.slots, memory, State()
        equal = layers.spread(torch.zeros(slots.memory, slots.memory), slots.memory)
        before = [_slots(rows, 0, slots.cache) for rows in cache[:1]]
        own = [] if x is None else [_slots(x, slots.cache, slots.memory)]
        for index, layer in enumerate(layers.all):
            parts: list[tuple[Tensor, ...]] = []
            if slots.cache:
                parts.append((*layers.project(layer, cache[index], *before)[1:], cache[index]))
            if x is not None and slots.memory:
                query, key, value = layers.project(layer, x, *own)
                parts.append((key, value, x))
                x = layers.mix(layer, x, (query, slots.memory), key, value, equal)
            for name, *columns in zip(self.kept, *parts, strict=False):
                state[f"{name}.{index}"] = torch.cat(columns, 1)
        return state


def _slots(x: Tensor, first: int, count: int) -> Tensor:
    """(B, L): slots in a row, the same in every row of the batch of x."""
    return (first + torch.arange(count)).expand(x.shape[0], -1)


def _index(x: Tensor, places: Tensor) -> Tensor:
    """(B, L, 2): row and place of all that is written of the batch of x."""
    row = torch.arange(x.shape[0])[:, None]
    return torch.stack([row + 0 * places, 0 * row + places], -1)
