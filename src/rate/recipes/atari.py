"""Recipes for four Atari games: windows of 90 steps in three segments, as in the paper, on data of scripted players.

The default size is one that a laptop trains, with fewer channels and shorter episodes; `rate-paper` has the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig, edit
from rate.data.config import DataConfig
from rate.envs.atari import NAMES
from rate.evaluation.evaluator import EvalConfig
from rate.models import MODELS
from rate.nn.encoding import EncoderConfig
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.training.config import TrainConfig

WINDOW, SEGMENT = 90, 30
STEPS = 1500
"""Steps of an episode of the data; whole games of good players are twenty times as long."""
WINDOWS, UPDATES = 4, 1600
"""Of a batch, and optimiser steps. Data of 120 episodes and a training of rate took 4.4 minutes of CPU time together,
with memory that the allocator keeps (benchmarks/atari)."""
LENGTHS = (5, 15, 30, 90)
"""Of windows, one after the other: batches of many short ones teach to see sooner."""

SIZES: dict[str, Any] = {
    "layers": 2,
    "width": 64,
    "heads": 2,
    "head_width": 32,
    "feed_forward": 256,
    "previous_action": False,  # most actions repeat the one before, and to repeat is learnt before to look
}
FIELDS: dict[str, dict[str, Any]] = {
    "rate": {**SIZES, "segment_len": SEGMENT, "memory_tokens": 15, "cache_tokens": 90, "valve_heads": 1},
    "dt": SIZES,
    "bc-lstm": {},
    "bc-mlp": {"hidden": 256},
}
"""Model to the fields in which it differs from its preset."""
ENCODER = EncoderConfig(name="image", channels=(16, 32, 32), padding=1, normalise="pixels")
"""The ball is a few pixels of 84 x 84, and unseen beside walls and bricks unless every pixel has its own unit."""
SCALES = {"atari/breakout": 10.0, "atari/pong": 1.0, "atari/qbert": 1000.0, "atari/seaquest": 1000.0}
"""By what returns are divided, so that they are of the size of 1 to 20."""
TARGETS = {"atari/breakout": 280.0, "atari/pong": 8.0, "atari/qbert": 15_500.0, "atari/seaquest": 3900.0}
"""What the players reach in STEPS without errors, mean of three episodes; the paper's targets are of whole games."""
TABLE = ("rate", "dt", "bc-mlp")
PLAN = (
    (("atari/pong", "atari/breakout"), TABLE, (0, 1)),
    (("atari/qbert", "atari/seaquest"), ("rate", "dt"), (0,)),
)
"""Games, models and seeds of the suite."""
PAPER: dict[str, Any] = {
    "model.layers": 6,
    "model.width": 128,
    "model.heads": 8,
    "model.head_width": 16,
    "model.cache_tokens": 360,
    "model.encoder": EncoderConfig(name="image"),
    "model.previous_action": True,
    "train.windows": (),
    "train.average": 0.0,
    "train.batch_size": 128,
    "train.learning_rate": 3e-4,
    "train.betas": (0.9, 0.95),
    "train.weight_decay": 0.1,
}


def atari(env: str, model: str) -> RunConfig:
    """One model on one game."""
    return RunConfig(
        recipe=f"{env}/{model}",
        env=EnvConfig(name=env),
        model=MODELS.get(model)(WINDOW, **FIELDS[model], encoder=ENCODER),
        data=DataConfig(
            episodes=120, options=(f"max_steps={STEPS}",), start="random", sample="step", return_scale=SCALES[env]
        ),
        train=TrainConfig(
            window=WINDOW,
            windows=LENGTHS,
            steps=UPDATES,
            batch_size=WINDOWS,
            learning_rate=3e-3,
            betas=(0.9, 0.95),
            average=0.1,
        ),
        eval=EvalConfig(episodes=10, batch=10, max_steps=STEPS),
    )


def paper(env: str) -> RunConfig:
    """RATE in the paper's size."""
    return edit(atari(env, "rate"), {"recipe": f"{env}/rate-paper", **PAPER})


for _env in NAMES:
    RECIPES.add(f"{_env}/rate-paper", partial(paper, _env))
    for _model in FIELDS:
        RECIPES.add(f"{_env}/{_model}", partial(atari, _env, _model))


def runs() -> Iterator[SuiteRun]:
    """Two games with two seeds and all models of the table, then two with less."""
    for envs, models, seeds in PLAN:
        for seed in seeds:
            for env in envs:
                for model in models:
                    config = edit(atari(env, model), {"seed": seed, "eval.target_return": TARGETS[env]})
                    yield SuiteRun(name=f"{env.removeprefix('atari/')}/{model}/seed{seed}", config=config)


SUITES.add(
    "atari",
    Suite(
        name="atari",
        summary="Atari: rate, dt and bc-mlp on Pong and Breakout, two seeds; rate and dt on Qbert and Seaquest",
        runs=lambda: list(runs()),
    ),
)
