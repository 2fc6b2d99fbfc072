"""The memory of a policy while it plays: what it holds at every step, and how far the valve moved it at a border."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from torch import Tensor

from rate.evaluation.episode import Frame
from rate.evaluation.inspected import MemoryNow
from rate.models.actor import Actor
from rate.models.interventions import Recorder, intervene
from rate.models.policies.segment import carries_memory


def with_memory(frames: Iterable[Frame], actor: Actor) -> Iterator[Frame]:
    """The frames of an episode that the actor plays, each with its memory; as they are if it carries none."""
    policy = actor.policy
    if not carries_memory(policy):
        yield from frames
        return
    record, rows, length = Recorder(), policy.memory.detach().cpu(), policy.segment_len
    unchanged = np.zeros(len(rows))
    now = MemoryNow(segment=1, step=0, segment_len=length, rows=rows.numpy(), row_changes=unchanged, changes=())
    with intervene(actor, record):
        for frame in frames:
            if len(record.seen) == now.segment:  # one border more than segments were completed before
                before, rows = rows, record.seen[-1].value[0]
                now = _after(now, before, rows)
            yield replace(frame, memory=replace(now, step=frame.step - (now.segment - 1) * length))


def _after(now: MemoryNow, before: Tensor, rows: Tensor) -> MemoryNow:
    """What is known after a border at which these rows took the place of those before."""
    return replace(
        now,
        segment=now.segment + 1,
        rows=rows.numpy(),
        row_changes=apart(rows, before).numpy(),
        changes=(*now.changes, float(apart(rows.flatten(), before.flatten()))),
    )


def apart(rows: Tensor, origin: Tensor) -> Tensor:
    """(..., D) twice -> (...): how far rows are from an origin, relative to its length."""
    distance: Tensor = (rows - origin).norm(dim=-1) / origin.norm(dim=-1).clamp(min=1e-12)
    return distance
