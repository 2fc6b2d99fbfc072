"""The whole of `rate bench`, on one core and on all.

Seconds depend on the machine and its load; the ratios of one run are what can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from rate.bench import export, models, reading, scan
from rate.bench import rate_and_dt as pair
from rate.bench.measuring import Figures
from rate.models import RateConfig

OnProgress = Callable[..., None]


def run_bench(*, quick: bool = False, on_progress: OnProgress | None = None) -> Figures:
    """Everything, on one core and on all."""
    cores, repeats = torch.get_num_threads(), 2 if quick else 8
    torch.set_num_threads(1)
    if on_progress is not None:
        on_progress(0, None, "acting through a long episode")
    states = pair.episode_states(pair.models()["rate"], (100, 10_000) if quick else (100, 10_000, 100_000))
    parts = [part for threads in sorted({1, cores}) for part in _parts(threads, states, repeats)]
    figures: Figures = {"sizes": pair.sizes()}
    for index, (threads, name, part) in enumerate(parts):
        if on_progress is not None:
            on_progress(index, len(parts), f"measuring {name.replace('_', ' ')}, {threads} thread(s)")
        torch.set_num_threads(threads)
        figures.setdefault(f"threads-{threads}", {})[name] = part()
    torch.set_num_threads(cores)
    return figures


def _parts(threads: int, states: Mapping[int, Any], repeats: int) -> list[tuple[int, str, Callable[[], Any]]]:
    rate, dt = pair.models()["rate"], pair.models()["dt"]
    assert isinstance(rate, RateConfig)
    plain = replace(rate, kv_heads=rate.heads)
    few = max(1, repeats // 4)
    return [
        (threads, "acting_rate", lambda: pair.acting(rate, repeats)),
        (threads, "acting_rate_plain_multi_head", lambda: pair.acting(plain, repeats)),
        (threads, "acting_dt", lambda: pair.acting(dt, repeats)),
        (threads, "flatness", lambda: pair.flatness(rate, states, 4 * repeats)),
        (threads, "training_rate", lambda: pair.training_in_child("rate", threads, few)),
        (
            threads,
            "training_rate_recompute",
            lambda: pair.training_in_child("rate", threads, few, recompute=True),
        ),
        (threads, "training_dt", lambda: pair.training_in_child("dt", threads, few)),
        (threads, "tmaze_env_steps_per_second", pair.environment_steps),
        *((threads, f"reading_{name}", partial(reading.reading, name, few)) for name in reading.LAYOUTS),
        (threads, "mamba_scan", lambda: scan.scan(few)),
        *((threads, f"model {name}", partial(models.measure, name, repeats)) for name in models.configs()),
        *((threads, f"export {name}", part) for name, part in export.parts(repeats) if threads == 1),
    ]
