"""The registry of suites: a suite is a named list of runs that belong in one report.

`rate suite NAME` trains and evaluates them; a suite only says which they are.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rate.config import RunConfig, edit
from rate.registry import Registry


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """One run of a suite."""

    name: str
    """Its directory under that of the suite, such as rate-30/seed0."""
    config: RunConfig


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Runs that belong together."""

    name: str
    summary: str
    """One line for `rate list suites`."""
    runs: Callable[[], Sequence[SuiteRun]]
    """The runs; a function, so that a suite that is not asked for costs nothing."""


def grid(base: RunConfig, axes: Mapping[str, Sequence[Any]], seeds: Iterable[int] = (0,)) -> list[SuiteRun]:
    """Every combination of values, such as those of {"model.layers": (1, 2, 4, 8)}, with every seed.

    A run is named by its values: layers=2,width=32/seed0.
    """
    last = [name.rsplit(".", 1)[-1] for name in axes]
    short = last if len(set(last)) == len(last) else list(axes)
    runs = []
    for seed, values in itertools.product(seeds, itertools.product(*axes.values())):
        point = ",".join(f"{name}={in_path(value)}" for name, value in zip(short, values, strict=True))
        config = edit(base, {**dict(zip(axes, values, strict=True)), "seed": seed})
        runs.append(SuiteRun(name=f"{point}/seed{seed}", config=config))
    return runs


def in_path(value: Any) -> str:
    """A value as a part of the name of a directory."""
    text = "-".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
    return re.sub(r"[^A-Za-z0-9_.+=-]+", "-", text)


SUITES: Registry[Suite] = Registry("suite", "rate list suites")
