"""How the bench measures: clocks, memory, random windows, optimiser steps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rate.models import SequencePolicy, unroll
from rate.types import Segment, Spaces, tree_leaves

STATUS = Path("/proc/self/status")
"""Where Linux gives the memory of a process."""

Figures = dict[str, Any]


def clock() -> float:
    """CPU seconds on one thread, where other work does not count; wall seconds on several, where waiting does."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def fastest(function: Callable[[], None], repeats: int) -> float:
    function()
    times = []
    for _ in range(repeats):
        began = clock()
        function()
        times.append(clock() - began)
    return min(times)


def window_of(spaces: Spaces, batch: int, length: int) -> Segment:
    """Random steps."""
    shape = spaces.observation.shape
    assert shape is not None
    return Segment(
        observation=torch.randn(batch, length, *shape),
        action=torch.zeros(batch, length, dtype=torch.long),
        return_to_go=torch.ones(batch, length),
        reward=torch.zeros(batch, length),
        terminated=torch.zeros(batch, length, dtype=torch.bool),
        timestep=torch.arange(length).repeat(batch, 1),
        mask=torch.ones(batch, length, dtype=torch.bool),
        oracle=None if spaces.oracle is None else torch.ones(batch, length),
    )


def bytes_of(state: Any) -> int:
    return sum(leaf.numel() * leaf.element_size() for leaf in tree_leaves(state))


def peak_mib() -> float | None:
    """The most memory that this process has held; None where the system does not say."""
    if STATUS.exists():  # getrusage would count the parent's memory too, from before the program was replaced
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1024 * 1024 if sys.platform == "darwin" else 1024)


def cloning_step(policy: SequencePolicy[Any], recompute: bool = False) -> Callable[[Segment], None]:
    """One optimiser step on a window: forward, backward through memory, AdamW."""
    optimizer = torch.optim.AdamW(policy.train().parameters(), lr=1e-4)

    def step(window: Segment) -> None:
        loss: Tensor = policy.head.loss(unroll(policy, window, recompute=recompute).prediction, window.action).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step
