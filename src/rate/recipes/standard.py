"""The suites of the one recipe: tasks that ask for different memories, and the forms of the valve.

`benchmarks/learning` has their results; `standard.py` is the recipe itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from rate.config import edit
from rate.recipes.recipe import recipe
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.standard import half

KEPT = ("tmaze", "aar", "minigrid-memory")
"""Tasks that ask for one bit over a long time."""
HELD = tuple(f"popgym/{family}-Easy" for family in ("Autoencode", "CountRecall", "Concentration"))
"""Tasks that ask for many things at once."""
MODELS = ("rate", "dt", "bc-lstm")


def learning() -> Iterator[SuiteRun]:
    """RATE, a window and a recurrent network with the same options; more seeds of RATE, which come before theirs."""
    yield from _compared(KEPT + HELD, MODELS, range(1))
    yield from _compared(HELD + KEPT, MODELS[:1], range(1, 3))
    yield from _compared(KEPT, MODELS[:1], range(3, 5))
    yield from _compared(HELD, MODELS[1:], range(1, 3))


def _compared(envs: Iterable[str], models: Iterable[str], seeds: Iterable[int]) -> Iterator[SuiteRun]:
    for seed, env, model in itertools.product(seeds, envs, models):
        config = edit(recipe(f"{env}/{model}"), {"seed": seed})
        yield SuiteRun(name=f"{env.removeprefix('popgym/')}/{model}/seed{seed}", config=config)


FORMS: dict[str, dict[str, Any]] = {
    "ca2": {"model.valve_bias": 0.0, "model.valve_start": "random"},
    "ca2-bias": {"model.valve_start": "random"},
    "ca2-aligned": {},
    "none": {"model.valve": "none"},
    "gru": {"model.valve": "gru"},
    "lstm": {"model.valve": "lstm"},
}
"""Forms of the valve, by what differs from the recipe."""
STUDY: dict[str, Any] = {"model.cache_tokens": 0, "eval.episodes": 50}
BRIEF, LONGER = 1000, {"minigrid-memory": 3000}
"""Optimiser steps; of small batches in which most steps show a wall it takes more to find the object."""
CASES = {"tmaze": ("length=30", "length=900"), "minigrid-memory": ("size=41", "size=151")}
"""Where a form is judged: at the length of the data, and far beyond it."""


def forms() -> Iterator[SuiteRun]:
    """Each form of the valve on four tasks, all else as in the recipe, in small batches; no cache goes around it."""
    for seed in range(3):
        for env in ("tmaze", "minigrid-memory", *HELD[:2]):
            base = recipe(f"{env}/rate")
            own = {
                "train.steps": LONGER.get(env, BRIEF),
                "train.batch_size": half(base.train.batch_size),
                "eval.cases": CASES.get(env, ()),
            }
            for form, fields in FORMS.items():
                config = edit(base, {**fields, **STUDY, **own, "seed": seed})
                yield SuiteRun(name=f"{env.removeprefix('popgym/')}/{form}/seed{seed}", config=config)


for _suite in (
    Suite(
        name="learning",
        summary="the one recipe for rate, dt and bc-lstm on six tasks that ask for different memories",
        runs=lambda: list(learning()),
    ),
    Suite(
        name="valve-forms",
        summary="six forms of the valve on four tasks by the one recipe: room, keeping and return",
        runs=lambda: list(forms()),
    ),
):
    SUITES.add(_suite.name, _suite)
