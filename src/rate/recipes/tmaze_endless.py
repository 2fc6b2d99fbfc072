"""Recipes for the endless T-Maze: every model, trained on three corridors of up to 30 steps, judged on up to thirty.

By the one recipe, RATE and its relatives see three segments of thirty steps, window models all ninety steps at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rate.config import RunConfig, edit
from rate.data.config import DataConfig
from rate.evaluation.evaluator import EvalConfig
from rate.facts import Facts
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.recipes.tmaze import EVERY, ORACLE
from rate.standard import standard

CORRIDORS, LENGTH = 3, 30
WINDOW = CORRIDORS * LENGTH
JUDGED = (1, 3, 10, 30)
NAMES = tuple(model for model in EVERY if model not in ORACLE)
"""There is no oracle here: a clue is known for one corridor only."""


FACTS = Facts(steps=WINDOW, open_ended=True, returns_vary=False, numbers=4)


def tmaze_endless(model: str) -> RunConfig:
    """One model on three corridors."""
    data = DataConfig(episodes=3000, options=(f"corridors={CORRIDORS}", f"length={LENGTH}"))
    judged = EvalConfig(cases=tuple(f"corridors={count}" for count in JUDGED))
    return standard("tmaze-endless", model, FACTS, data, judged, f"tmaze-endless/{model}")


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
