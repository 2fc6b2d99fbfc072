"""Recipes for POPGym: four models on each of the 48 tasks, in one small size, and the suites that compare them.

Models that carry a state are trained on whole episodes, for what is shown first may be asked for last. A window that
slides has at most 210 steps, and where episodes are longer it is cut anywhere from them, as it is while acting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig, edit
from rate.data.config import DataConfig
from rate.envs.popgym import PLAYED, TASKS
from rate.evaluation.evaluator import EvalConfig
from rate.models import MODELS
from rate.nn.encoding import EARLIER
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.training.config import TrainConfig

LONGEST = 210
SEGMENTS = 3
BATCH = 32
"""Windows of up to 210 steps per optimiser step; of longer ones fewer, so that a step costs the same."""
CARRYING = ("rate", "bc-lstm")
"""Models that are trained on whole episodes."""

SIZES: dict[str, Any] = {"layers": 2, "width": 64, "heads": 4, "head_width": 16, "feed_forward": 256}
FIELDS: dict[str, dict[str, Any]] = {
    "rate": {**SIZES, "memory_tokens": 10, "valve_heads": 2},
    "dt": SIZES,
    "bc-lstm": {"previous_action": True},  # what a grid shows means nothing without the place that was asked about
    "bc-mlp": {},
}
"""Model to the fields in which it differs from its preset."""

SIX = ("RepeatFirst", "RepeatPrevious", "CountRecall", "Autoencode", "Concentration", "VelocityOnlyCartPole")
THREE = ("CountRecall", "Autoencode", "Concentration")
"""Those of the six that no model solves in 600 steps on 1,000 episodes."""
LONGER: dict[str, Any] = {"data.episodes": 3000, "train.steps": 1500, "train.betas": (0.9, 0.95)}


def window_of(env: str, model: str) -> tuple[int, int]:
    """Steps of a window and of its segments: the longest episode of a task, or as much as a sliding window can take."""
    steps = PLAYED[env] if model in CARRYING else min(PLAYED[env], LONGEST)
    segments = max(SEGMENTS, -(-steps * SEGMENTS // LONGEST))
    segment = -(-steps // segments)
    return segments * segment, segment


def popgym(env: str, model: str) -> RunConfig:
    """One model on one task."""
    window, segment = window_of(env, model)
    fields = {"segment_len": segment} if "memory_tokens" in FIELDS[model] else {}
    return RunConfig(
        recipe=f"{env}/{model}",
        env=EnvConfig(name=env),
        model=MODELS.get(model)(window, **FIELDS[model], **fields, encoder=EARLIER),
        data=DataConfig(episodes=1000, start="random" if PLAYED[env] > window else "first"),
        train=TrainConfig(
            window=window, steps=600, batch_size=BATCH * LONGEST // max(window, LONGEST), learning_rate=3e-3
        ),
        eval=EvalConfig(),
    )


for _env in TASKS:
    for _model in FIELDS:
        RECIPES.add(f"{_env}/{_model}", partial(popgym, _env, _model))


def runs(envs: Sequence[str], changes: dict[str, Any]) -> Iterator[SuiteRun]:
    """Every model on these tasks, two seeds."""
    for seed in range(2):
        for env in envs:
            for model in FIELDS:
                config = edit(popgym(env, model), {"seed": seed, **changes})
                yield SuiteRun(name=f"{env.removeprefix('popgym/')}/{model}/seed{seed}", config=config)


for _suite in (
    Suite(
        name="popgym",
        summary="rate, dt, bc-lstm and bc-mlp on all 48 tasks, data of the scripted experts",
        runs=lambda: list(runs(TASKS, {})),
    ),
    Suite(
        name="popgym-six",
        summary="the same on six tasks at their easy level: some hours on two cores",
        runs=lambda: list(runs([f"popgym/{family}-Easy" for family in SIX], {})),
    ),
    Suite(
        name="popgym-three",
        summary="the three of those six that it leaves unsolved, with more data and more steps",
        runs=lambda: list(runs([f"popgym/{family}-Easy" for family in THREE], LONGER)),
    ),
    Suite(
        name="popgym-paper-like",
        summary="all 48 tasks, data that is as good or bad as the paper's",
        runs=lambda: list(runs(TASKS, {"data.options": ("grade=paper-like",), "data.episodes": 3000})),
    ),
):
    SUITES.add(_suite.name, _suite)
