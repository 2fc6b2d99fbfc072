"""The preservation probe: how much each update changes the memory of a trained policy, beside the theorem's bound.

It listens to the valve while the policy acts, so it serves every valve. See docs/howto/inspect_memory.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from rate.envs.spec import EnvSpec, EvalCase
from rate.errors import ConfigError
from rate.evaluation.evaluator import EvalConfig, Evaluator, OnStep
from rate.evaluation.intervals import Floats, Interval
from rate.evaluation.rollout import LockStep
from rate.evaluation.room import holding, rank, room
from rate.models.interventions import Intervention, Moment
from rate.models.policies.segment import SegmentPolicy, carries_memory
from rate.models.policy import SequencePolicy

Measures: TypeAlias = dict[str, Floats]
"""Of one update, by name: a number for each episode."""


@dataclass(frozen=True, kw_only=True)
class MemoryUpdate:
    """One update of memory, M_n to M_{n+1}: the mean over episodes, and the smallest and the largest of them."""

    number: int
    """n + 1: the first update has number 1."""
    episodes: int
    """Episodes that lasted until this update."""
    change: Interval
    """||M_{n+1} - M_n|| / ||M_n||, of the memory as it is."""
    moved: Interval
    """The same with every row scaled to length 1: the left side of the bound."""
    cosine: Interval
    """Between a row before and after, the mean over the rows."""
    cosine_min: float
    """The same for the row that turned most, in any episode."""
    apart: Interval
    """How far M_{n+1} is from the mean of the episodes in its batch, over its norm; 0: all alike, nothing is kept."""
    rank: Interval
    """Rows of M_{n+1} that are unlike each other, an effective number; 1: all point the same way."""
    holding: float
    """Rows that hold what differs between the episodes of a batch, an effective number."""
    room: float
    """Independent directions in which these episodes differ, an effective number; at most their number less one."""
    alignment: Interval | None
    """alpha, as far as the theorem's condition holds; it may be negative. None: the valve mixes no rows."""
    bound: Interval | None
    """sqrt(2 (1 - alpha / m)): the right side of the bound."""
    aligned: float | None
    """Share of episodes with alpha > 0, which the theorem asks for."""
    holds: float | None
    """Share of episodes whose left side is at most the right one, whether or not the theorem promises it."""


@dataclass(frozen=True, kw_only=True)
class Preservation:
    """What the probe found in one case."""

    case: str
    intervention: str
    """Under which the policy acted; empty: none."""
    episodes: int
    memory_tokens: int
    updates: tuple[MemoryUpdate, ...]

    @property
    def late(self) -> tuple[MemoryUpdate, ...]:
        """The second half of the updates, after what is to be remembered was seen."""
        return self.updates[len(self.updates) // 2 :]

    def summary(self) -> dict[str, Any]:
        """JSON values. `retention` is over the late updates: good is little change while episodes stay apart."""
        late = self.late
        retention = {
            "from_update": late[0].number,
            "change": math.fsum(update.change.value for update in late) / len(late),
            "cosine": math.fsum(update.cosine.value for update in late) / len(late),
            "apart": math.fsum(update.apart.value for update in late) / len(late),
            "rank": math.fsum(update.rank.value for update in late) / len(late),
            "holding": math.fsum(update.holding for update in late) / len(late),
            "room": math.fsum(update.room for update in late) / len(late),
        }
        return {**asdict(self), "retention": retention}


def probe_memory(
    policy: SequencePolicy[Any],
    spec: EnvSpec,
    case: EvalCase,
    config: EvalConfig,
    *,
    return_scale: float = 1.0,
    oracle: str = "",
    intervene: Sequence[str] = (),
    on_step: OnStep | None = None,
) -> Preservation:
    """Run the episodes that an evaluation would run, and measure every update of memory in them."""
    segments = check_has_memory(policy)
    memory, steps = segments.slots.memory, segments.slots.steps
    evaluator = Evaluator(
        spec=spec, config=config, return_scale=return_scale, oracle=oracle, intervene=tuple(intervene)
    )
    updates: dict[int, list[Measures]] = defaultdict(list)
    probe = ValveProbe()

    def watch(at: LockStep) -> None:
        for tensors in probe.seen:
            # Update n is made before step n K + 1 is taken; a batch holds finished episodes for a while.
            alive = [tensor[at.alive] for tensor in tensors]
            updates[(at.number - 1) // steps].append(measure(*alive))
        probe.seen.clear()
        if on_step is not None:
            on_step(case, at.number)

    evaluator.play(policy, case, watch, [probe])
    if not updates:
        raise ConfigError(f"no episode of {case.name} is longer than a segment of {steps} steps; take a longer one")
    found = tuple(summarise(number, parts, memory) for number, parts in updates.items())
    return Preservation(
        case=case.name,
        intervention=evaluator.intervention,
        episodes=config.episodes,
        memory_tokens=memory,
        updates=found,
    )


def check_has_memory(policy: SequencePolicy[Any]) -> SegmentPolicy:
    """Refuse a policy in which there is nothing to probe."""
    if carries_memory(policy):
        return policy
    raise ConfigError("this model carries no memory embeddings from segment to segment; probe a run of rate or rmt")


class ValveProbe(Intervention):
    """Changes nothing, and keeps what every call of the valve was given and gave, until it is measured."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Tensor, ...]] = []
        """Memory that came in, memory that was kept, and the candidates of a valve that has any."""

    def attach(self, policy: SequencePolicy[Any], now: Callable[[], Moment]) -> Sequence[RemovableHandle]:
        valve = check_has_memory(policy).valve

        def see(_: nn.Module, given: tuple[Tensor, Tensor, Tensor], kept: tuple[Tensor, Tensor]) -> None:
            incoming, written, _cell = given
            candidates = valve.candidates(incoming, written)
            self.seen.append((incoming, kept[0]) if candidates is None else (incoming, kept[0], candidates))

        return [valve.register_forward_hook(see)]


@torch.no_grad()
def measure(incoming: Tensor, kept: Tensor, candidates: Tensor | None = None) -> Measures:
    """One update of B memories (B, M, D), a number for each."""
    incoming, kept = incoming.double(), kept.double()
    before, after = F.normalize(incoming, dim=-1), F.normalize(kept, dim=-1)
    cosine = (before * after).sum(-1)  # (B, M)
    values = {
        "change": frobenius(kept - incoming) / frobenius(incoming),
        "moved": frobenius(after - before) / frobenius(before),
        "cosine": cosine.mean(1),
        "cosine_min": cosine.amin(1),
        "apart": frobenius(kept - kept.mean(0)) / frobenius(kept),
        "rank": rank(kept),
        "holding": holding(kept).expand(len(kept)),
        "room": room(kept).expand(len(kept)),
    }
    if candidates is not None:
        aligned = before @ F.normalize(candidates.double(), dim=-1).transpose(1, 2)  # (B, M, candidates)
        values["alignment"] = aligned.amax(2).amin(1)
    return {name: value.cpu().numpy() for name, value in values.items()}


def frobenius(x: Tensor) -> Tensor:
    return x.square().sum((1, 2)).sqrt()


def summarise(number: int, parts: Sequence[Measures], memory_tokens: int) -> MemoryUpdate:
    """The measures of one update over all batches."""
    all_of = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    moved, alpha = all_of["moved"], all_of.get("alignment")
    bound = None if alpha is None else np.sqrt(np.clip(2 * (1 - alpha / memory_tokens), 0, None))
    return MemoryUpdate(
        number=number,
        episodes=len(moved),
        change=spread(all_of["change"]),
        moved=spread(moved),
        cosine=spread(all_of["cosine"]),
        cosine_min=float(all_of["cosine_min"].min()),
        apart=spread(all_of["apart"]),
        rank=spread(all_of["rank"]),
        holding=float(all_of["holding"].mean()),
        room=float(all_of["room"].mean()),
        alignment=None if alpha is None else spread(alpha),
        bound=None if bound is None else spread(bound),
        aligned=None if alpha is None else float((alpha > 0).mean()),
        holds=None if bound is None else float((moved <= bound + 1e-6).mean()),
    )


def spread(values: Floats) -> Interval:
    """The mean between the smallest and the largest value."""
    return Interval(float(values.mean()), float(values.min()), float(values.max()))
