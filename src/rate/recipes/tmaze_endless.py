"""Recipes for the endless T-Maze: every model, trained on three corridors of up to 30 steps, judged on up to thirty.

They have the sizes of the recipes for T-Maze and the budget of its suites. RATE and its relatives see nine segments of
ten steps, window models all ninety steps at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rate.config import EnvConfig, RunConfig, edit
from rate.data.config import DataConfig
from rate.evaluation.evaluator import EvalConfig
from rate.models import MODELS
from rate.objectives import OBJECTIVES
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.recipes.tmaze import EVERY, FIELDS, OBJECTIVE, ORACLE
from rate.training.config import TrainConfig

CORRIDORS, LENGTH, SEGMENT = 3, 30, 10
WINDOW = CORRIDORS * LENGTH
JUDGED = (1, 3, 10, 30)
NAMES = tuple(model for model in EVERY if model not in ORACLE)
"""There is no oracle here: a clue is known for one corridor only."""


def tmaze_endless(model: str) -> RunConfig:
    """One model on three corridors."""
    objective = OBJECTIVE.get(model, "behaviour-cloning")
    segments = {"segment_len": SEGMENT} if hasattr(MODELS.get(model)(WINDOW), "segment_len") else {}
    return RunConfig(
        recipe=f"tmaze-endless/{model}",
        env=EnvConfig(name="tmaze-endless"),
        model=MODELS.get(model)(WINDOW, **{**FIELDS.get(model, {}), **segments}),
        objective=OBJECTIVES.get(objective)(name=objective),
        data=DataConfig(episodes=3000, options=(f"corridors={CORRIDORS}", f"length={LENGTH}")),
        train=TrainConfig(window=WINDOW, steps=500, learning_rate=3e-3),
        eval=EvalConfig(cases=tuple(f"corridors={count}" for count in JUDGED)),
    )


for _model in NAMES:
    RECIPES.add(f"tmaze-endless/{_model}", partial(tmaze_endless, _model))


def runs() -> Iterator[SuiteRun]:
    """Five ways to remember, three seeds."""
    for seed in range(3):
        for model in ("rate", "rmt", "dt", "bc-lstm", "dmamba"):
            yield SuiteRun(name=f"{model}/seed{seed}", config=edit(tmaze_endless(model), {"seed": seed}))


SUITES.add(
    "tmaze-endless",
    Suite(
        name="tmaze-endless",
        summary="rate, rmt, dt, bc-lstm and dmamba on a chain of corridors, trained on 3, evaluated on up to 30",
        runs=lambda: list(runs()),
    ),
)
