"""Recipes for Action Associative Retrieval: trained on up to 90 steps, judged on 90 and 180, with the memory condition.

RATE sees three segments of thirty steps, DT all ninety at once; BC sees no actions, and so cannot know the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig, edit
from rate.data.windows import DataConfig
from rate.evaluation.evaluator import EvalConfig
from rate.models import MODELS
from rate.recipes.recipe import RECIPES
from rate.recipes.suite import SUITES, Suite, SuiteRun
from rate.recipes.tmaze import KEEPING, MEMORY, SIZES
from rate.training.config import TrainConfig

WINDOW = 90
CASES = (f"length={WINDOW}", f"length={2 * WINDOW}")

FIELDS: dict[str, dict[str, Any]] = {
    "rate": {**MEMORY, "valve_heads": 2},
    "dt": SIZES,
    "bc-lstm": KEEPING,
    "bc-mlp": {},
}
"""Model to the fields in which it differs from its preset."""


def aar(model: str) -> RunConfig:
    """One model on episodes of up to 90 steps: on one length alone, not every seed of RATE keeps beyond it."""
    return RunConfig(
        recipe=f"aar/{model}",
        env=EnvConfig(name="aar"),
        model=MODELS.get(model)(WINDOW, **FIELDS[model]),
        data=DataConfig(episodes=6000, options=(f"length={WINDOW}", "lengths=uniform")),
        train=TrainConfig(
            window=WINDOW,
            steps=500,
            learning_rate=3e-3,
            evaluate_every=25,
            evaluate_cases=CASES,
        ),
        eval=EvalConfig(cases=CASES),
    )


for _model in FIELDS:
    RECIPES.add(f"aar/{_model}", partial(aar, _model))


def compared() -> Iterator[SuiteRun]:
    """RATE and DT, two seeds each."""
    for seed in range(2):
        for model in ("rate", "dt"):
            yield SuiteRun(name=f"{model}/seed{seed}", config=edit(aar(model), {"seed": seed}))


SUITES.add(
    "aar",
    Suite(
        name="aar",
        summary="RATE and DT on Action Associative Retrieval: trained on up to 90 steps, validated on 180",
        runs=lambda: list(compared()),
    ),
)
