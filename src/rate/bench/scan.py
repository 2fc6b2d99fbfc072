"""Mamba's scan against loops over tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from rate.bench.measuring import Figures, fastest
from rate.nn.ssm import loop_scan, selective_scan
from rate.types import tree_map


def plain_scan(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrence as it is mostly written: all decays and inputs at once, then a loop that indexes them."""
    decay, written = torch.exp(delta[:, :, None] * A), (delta * x)[:, :, None] * B[..., None]
    outputs: list[Tensor] = []
    for t in range(x.shape[1]):
        state = decay[:, t] * state + written[:, t]
        outputs.append((C[:, t, :, None] * state).sum(1))
    return torch.stack(outputs, 1), state


def scan(repeats: int, tokens: int = 450, batch: int = 4, inner: int = 128, state: int = 16) -> Figures:
    """Mamba's scan, forward and backward, against two loops over tokens that autograd follows.

    Indexing makes autograd fill a whole gradient for every token; the careful loop takes the tensors apart once.
    """
    torch.manual_seed(0)
    values = {
        "x": torch.randn(batch, tokens, inner),
        "delta": torch.rand(batch, tokens, inner) * 0.1,
        "A": -torch.rand(state, inner) * state,
        "B": torch.randn(batch, tokens, state),
        "C": torch.randn(batch, tokens, state),
        "state": torch.zeros(batch, state, inner),
    }
    seconds = {name: fastest(partial(_scanned, run, values), repeats) for name, run in SCANS.items()}
    own = seconds.pop("scan")
    ratios = {f"{name}_over_scan": value / own for name, value in seconds.items()}
    return {"tokens": tokens, "batch": batch, "scan_seconds": own, **ratios}


SCANS: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {
    "plain_loop": plain_scan,
    "careful_loop": loop_scan,
    "scan": selective_scan,
}


def _scanned(run: Callable[..., tuple[Tensor, Tensor]], values: Mapping[str, Tensor]) -> None:
    inputs: dict[str, Tensor] = tree_map(lambda leaf: leaf.clone().requires_grad_(), dict(values))
    run(**inputs)[0].sum().backward()  # type: ignore[no-untyped-call]
