"""Recipes for Action Associative Retrieval: trained on 90 steps, judged on 90 and 180, with the memory condition.

The recipes are the one recipe. The suite is published with what was found before it, and keeps that: RATE acts in
segments of thirty steps, DT sees all ninety at once; BC sees no actions, and so cannot know the first one. Every
episode has the same length, so memory is asked for after the same number of updates each time, and could learn to
answer after that number alone. So RATE is trained with segments of several lengths.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig, edit
from rate.data.config import DataConfig
from rate.evaluation.evaluator import EvalConfig
from rate.facts import Facts
from rate.models import MODELS
from rate.nn.encoding import EARLIER
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.recipes.tmaze import KEEPING, MEMORY, SIZES
from rate.standard import standard
from rate.training.config import TrainConfig

WINDOW = 90
SEGMENTS = (90, 45, 30, 18)
CASES = (f"length={WINDOW}", f"length={2 * WINDOW}")

FIELDS: dict[str, dict[str, Any]] = {
    "rate": {**MEMORY, "valve_heads": 2},
    "dt": SIZES,
    "bc-lstm": KEEPING,
    "bc-mlp": {},
}
"""Model to the fields in which it differs from its preset."""
TRAIN: dict[str, Any] = {
    "window": WINDOW,
    "steps": 500,
    "learning_rate": 3e-3,
    # One step in ninety asks for memory: gradients are small, and change their scale when it is learnt.
    "betas": (0.9, 0.95),
    "clip": 0.02,
    "evaluate_every": 25,
    "evaluate_cases": CASES,
}
TRAINING: dict[str, dict[str, Any]] = {"rate": {"steps": 1000, "segment_lens": SEGMENTS}}
"""Model to the fields in which its training differs."""


FACTS = Facts(steps=WINDOW, open_ended=True, returns_vary=False, numbers=3)


def aar(model: str) -> RunConfig:
    """One model on episodes of 90 steps."""
    data, judged = DataConfig(episodes=6000, options=(f"length={WINDOW}",)), EvalConfig(cases=CASES)
    config = standard("aar", model, FACTS, data, judged, f"aar/{model}")
    return edit(config, {"train.evaluate_every": 100, "train.evaluate_cases": CASES})


def earlier(model: str) -> RunConfig:
    """One model on episodes of 90 steps, as the published suite has it."""
    return RunConfig(
        recipe=f"aar/{model}",
        env=EnvConfig(name="aar"),
        model=MODELS.get(model)(WINDOW, **FIELDS[model], encoder=EARLIER),
        data=DataConfig(episodes=6000, options=(f"length={WINDOW}",)),
        train=TrainConfig(**{**TRAIN, **TRAINING.get(model, {})}),
        eval=EvalConfig(cases=CASES),
    )


for _model in FIELDS:
    RECIPES.add(f"aar/{_model}", partial(aar, _model))


def compared() -> Iterator[SuiteRun]:
    """RATE and DT, two seeds each."""
    for seed in range(2):
        for model in ("rate", "dt"):
            yield SuiteRun(name=f"{model}/seed{seed}", config=edit(earlier(model), {"seed": seed}))


SUITES.add(
    "aar",
    Suite(
        name="aar",
        summary="RATE and DT on Action Associative Retrieval: trained on 90 steps, validated on 180",
        runs=lambda: list(compared()),
    ),
)
