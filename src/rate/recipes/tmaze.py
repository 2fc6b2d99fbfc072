"""Recipes for T-Maze: trained on 30 steps, evaluated from 9 to 9600.

RATE, RMT and TrXL see three segments of ten steps; DT sees all thirty at once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig
from rate.data.windows import DataConfig
from rate.evaluation.evaluator import EvalConfig
from rate.models import MODELS
from rate.recipes.recipe import RECIPES
from rate.training.config import TrainConfig

WINDOW = 30
HORIZONS = (9, 30, 90, 150, 300, 600, 900, 1200, 2400, 4800, 9600)
WINDOW_HORIZONS = HORIZONS[:7]
"""A sliding window is recomputed at each step; past 900 steps it only costs more."""

SIZES: dict[str, Any] = {"layers": 2, "width": 64, "heads": 4, "head_width": 16}
MEMORY: dict[str, Any] = {"memory_tokens": 10, "memory_noise": 0.3}
"""The noise widens the basin in which the stored bit is kept: benchmarks/tmaze/retention has the study."""


def tmaze(model: str, horizons: tuple[int, ...], **fields: Any) -> RunConfig:
    """One model on corridors that take up to 30 steps."""
    return RunConfig(
        recipe=f"tmaze/{model}",
        env=EnvConfig(name="tmaze"),
        model=MODELS.get(model)(WINDOW, **SIZES, **fields),
        data=DataConfig(episodes=6000, options=(f"length={WINDOW}",)),
        train=TrainConfig(window=WINDOW, steps=1000, learning_rate=1e-3, warmup_steps=100),
        eval=EvalConfig(cases=tuple(f"length={horizon}" for horizon in horizons)),
    )


RECIPES.add("tmaze/rate", partial(tmaze, "rate", HORIZONS, valve_heads=2, **MEMORY))
RECIPES.add("tmaze/rmt", partial(tmaze, "rmt", HORIZONS, **MEMORY))
RECIPES.add("tmaze/trxl", partial(tmaze, "trxl", HORIZONS))
RECIPES.add("tmaze/dt", partial(tmaze, "dt", WINDOW_HORIZONS))
