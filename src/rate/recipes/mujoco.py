"""Recipes for MuJoCo's walkers: windows of 60 steps in three segments, as in the paper, on data of any grade.

The default size trains in minutes on one thread; the names that end in `-paper` have the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig, edit
from rate.data.config import DataConfig
from rate.envs.mujoco import NAMES
from rate.evaluation.evaluator import EvalConfig
from rate.models import MODELS
from rate.objectives import OBJECTIVES
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.training.config import TrainConfig

WINDOW, SEGMENT = 60, 20
EPISODES = 200
WINDOWS, STEPS = 16, 1000
"""Of a batch, and optimiser steps: 960,000 steps of episodes in all, a minute of one thread for most models."""
OBJECTIVE: dict[str, dict[str, Any]] = {"cql": {"samples": 4}}
"""Objective to the fields in which it differs: with ten actions per source a step of CQL takes as long as five of RATE.
"""

SIZES: dict[str, Any] = {"layers": 2, "width": 64, "heads": 2, "head_width": 32, "feed_forward": 256}
MEMORY: dict[str, Any] = {"segment_len": SEGMENT, "memory_tokens": 5}
FIELDS: dict[str, dict[str, Any]] = {
    "rate": {**SIZES, **MEMORY, "cache_tokens": 60, "valve_heads": 1},
    "rmt": {**SIZES, **MEMORY},
    "trxl": {**SIZES, "segment_len": SEGMENT, "cache_tokens": 60},
    "dt": SIZES,
    "dmamba": {},
    "bc-lstm": {},
    "bc-mlp": {"hidden": 256},
    "cql-mlp": {"hidden": 256},
}
"""Model to the fields in which it differs from its preset."""
PAPER: dict[str, Any] = {"model.layers": 3, "model.width": 128, "model.heads": 1, "model.head_width": 128}
PAPER_TRAINING: dict[str, Any] = {
    "train.batch_size": 4096,
    "train.learning_rate": 6e-5,
    "train.betas": (0.9, 0.95),
    "train.weight_decay": 0.1,
    "data.episodes": 1000,
}
SEGMENTED = ("rate", "rmt", "trxl")
"""Models that are asked for the whole return at the start of each segment."""

TABLE = ("rate", "dt", "bc-mlp", "cql-mlp", "dmamba")
GRADES = ("medium", "medium-replay", "medium-expert")
PARTIAL = ("rate", "dt", "bc-lstm", "bc-mlp")
VIEWS = ("positions", "velocities")


def mujoco(env: str, model: str) -> RunConfig:
    """One model on the data of a medium policy."""
    objective = "cql" if model.startswith("cql") else "behaviour-cloning"
    return RunConfig(
        recipe=f"{env}/{model}",
        env=EnvConfig(name=env),
        model=MODELS.get(model)(WINDOW, **FIELDS[model]),
        objective=OBJECTIVES.get(objective)(name=objective, **OBJECTIVE.get(objective, {})),
        data=DataConfig(
            episodes=EPISODES, options=("grade=medium",), start="random", sample="step", return_scale=1000.0
        ),
        train=TrainConfig(window=WINDOW, steps=STEPS, batch_size=WINDOWS, learning_rate=1e-3),
        eval=EvalConfig(episodes=20, batch=20, prompt="per-segment" if model in SEGMENTED else "countdown"),
    )


def paper(env: str) -> RunConfig:
    """RATE in the paper's size."""
    changes = {"recipe": f"{env}/rate-paper", **PAPER, "model.feed_forward": 512, **PAPER_TRAINING}
    return edit(mujoco(env, "rate"), changes)


for _env in NAMES:
    RECIPES.add(f"{_env}/rate-paper", partial(paper, _env))
    for _model in FIELDS:
        RECIPES.add(f"{_env}/{_model}", partial(mujoco, _env, _model))


def runs(models: Sequence[str], settings: Mapping[str, dict[str, Any]]) -> Iterator[SuiteRun]:
    """These models on all walkers in some settings, two seeds."""
    for seed in range(2):
        for setting, changes in settings.items():
            for env in NAMES:
                for model in models:
                    config = edit(mujoco(env, model), {"seed": seed, **changes})
                    yield SuiteRun(name=f"{env.removeprefix('mujoco/')}-{setting}/{model}/seed{seed}", config=config)


def by_grade() -> dict[str, dict[str, Any]]:
    return {grade: {"data.options": (f"grade={grade}",)} for grade in GRADES}


def by_view() -> dict[str, dict[str, Any]]:
    return {
        view: {"data.options": ("grade=medium-expert", f"observe={view}"), "eval.cases": (f"observe={view}",)}
        for view in VIEWS
    }


SUITES.add(
    "mujoco",
    Suite(
        name="mujoco",
        summary="rate, dt, bc-mlp, cql-mlp and dmamba on nine data sets: three walkers, three grades",
        runs=lambda: list(runs(TABLE, by_grade())),
    ),
)
SUITES.add(
    "mujoco-partial",
    Suite(
        name="mujoco-partial",
        summary="rate, dt, bc-lstm and bc-mlp that see positions or velocities alone",
        runs=lambda: list(runs(PARTIAL, by_view())),
    ),
)
