"""Recipes for Minigrid-Memory: trained on grids of 41 cells, evaluated from 11 to 501, and their suite.

A window of 90 steps holds every whole episode of size 41, and in each of them the object lies about forty steps behind
the decision. The recipes are the one recipe. The suite is published with what was found before it, and keeps that: RATE
learns to look the object up in segments that hold the whole episode, then to carry it over one or two borders, then
over many: only in segments of ten are there some with nothing in them but corridor.
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
from rate.standard import standard
from rate.training.config import TrainConfig

SIZE = 41
WINDOW = 90
SEGMENTS = (90, 30, 10)
SIZES = (11, 21, 41, 61, 91, 151, 301, 501)

NETWORK: dict[str, Any] = {"layers": 2, "width": 64, "heads": 4, "head_width": 16}
FIELDS: dict[str, dict[str, Any]] = {
    # The last decision compares what is seen with what is remembered; the paper too keeps the FFN for this task.
    "rate": {
        **NETWORK,
        "segment_len": SEGMENTS[-1],
        "feed_forward": 256,
        "memory_tokens": 10,
        "memory_noise": 0.3,
        "valve_heads": 2,
    },
    "dt": {**NETWORK, "feed_forward": 256},
    "bc-lstm": {"forget_bias": 3.0},
    "bc-mlp": {},
}
"""Model to the fields in which it differs from its preset."""
TRAIN: dict[str, Any] = {
    "window": WINDOW,
    "steps": 800,
    "learning_rate": 3e-3,
    # One step in sixty asks for memory: gradients are small, and change their scale when it is learnt.
    "betas": (0.9, 0.95),
    "clip": 0.05,
}
TRAINING: dict[str, dict[str, Any]] = {"rate": {"steps": 1500, "segment_lens": SEGMENTS}}
"""Model to the fields in which its training differs."""


FACTS = Facts(steps=WINDOW, open_ended=True, returns_vary=True, numbers=11)


def minigrid(model: str) -> RunConfig:
    """One model on the symbolic observation."""
    data = DataConfig(episodes=5000, options=(f"size={SIZE}",))
    judged = EvalConfig(cases=tuple(f"size={size}" for size in SIZES))
    return standard("minigrid-memory", model, FACTS, data, judged, f"minigrid-memory/{model}")


def earlier(model: str) -> RunConfig:
    """One model on the symbolic observation, as the published suite has it."""
    return RunConfig(
        recipe=f"minigrid-memory/{model}",
        env=EnvConfig(name="minigrid-memory"),
        model=MODELS.get(model)(WINDOW, **FIELDS[model], encoder=EARLIER),
        data=DataConfig(episodes=5000, options=(f"size={SIZE}",)),
        train=TrainConfig(**{**TRAIN, **TRAINING.get(model, {})}),
        eval=EvalConfig(cases=tuple(f"size={size}" for size in SIZES)),
    )


for _model in FIELDS:
    RECIPES.add(f"minigrid-memory/{_model}", partial(minigrid, _model))


def runs() -> Iterator[SuiteRun]:
    """A transformer with memory, one without, and a recurrent network; two seeds."""
    for seed in range(2):
        for model in ("rate", "dt", "bc-lstm"):
            yield SuiteRun(name=f"{model}/seed{seed}", config=edit(earlier(model), {"seed": seed}))


SUITES.add(
    "minigrid-memory",
    Suite(
        name="minigrid-memory",
        summary="rate, dt and bc-lstm, trained on grids of 41 cells, evaluated from 11 to 501",
        runs=lambda: list(runs()),
    ),
)
