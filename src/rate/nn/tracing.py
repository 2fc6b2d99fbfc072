"""Whether a network is being traced: as a graph the same sums are best written in another way than as kernels."""

from __future__ import annotations

import torch


def is_tracing() -> bool:
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]
