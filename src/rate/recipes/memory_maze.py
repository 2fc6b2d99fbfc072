"""Recipes for Memory Maze: windows of 90 steps that start anywhere, as in the paper, on data of a noisy navigator.

All models have the one recipe's sizes and one budget, which a laptop trains in minutes; `rate-paper` has the paper's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rate.config import RunConfig, edit
from rate.data.config import DataConfig
from rate.envs.memory_maze import NAMES
from rate.evaluation.evaluator import EvalConfig
from rate.facts import Facts
from rate.models import MODELS
from rate.nn.encoding import EncoderConfig
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.standard import NARROW, standard

WINDOW, SEGMENT = 90, 30
MODEL_NAMES = ("rate", "dt", "rmt", "trxl", "bc-lstm", "cql-lstm")
"""The models of the paper's table."""
EPISODES = 300
ENCODER = EncoderConfig(name="image", channels=(16, 32, 32), scale="data", normalise="on")
FACTS = Facts(steps=WINDOW, open_ended=True, returns_vary=True, numbers=NARROW)
TOP = 0.4
"""Share of the episodes that is trained on, those of the highest return: half of the data is random actions."""
BUDGET: dict[str, Any] = {
    "train.steps": 700,
    "train.batch_size": 16,
    "train.learning_rate": 2e-3,
    "train.windows": (15, 30, WINDOW),
}
"""Six minutes of one core: an image costs more than the step of the sequence that it is."""
PAPER_MODEL: dict[str, Any] = {
    "layers": 6,
    "heads": 8,
    "width": 64,
    "head_width": 8,
    "segment_len": SEGMENT,
    "memory_tokens": 15,
    "cache_tokens": 360,
    "valve": "none",
    "feed_forward": 0,
    "dropout": 0.5,
    "attention_dropout": 0.2,
}
PAPER: dict[str, Any] = {
    "data.episodes": 5000,
    "data.top": 1.0,
    "train.windows": (),
    "train.segment_lens": (),
    "train.batch_size": 64,
    "train.learning_rate": 3e-4,
    "train.betas": (0.9, 0.95),
    "train.weight_decay": 0.1,
    "train.clip": 1.0,
}


def memory_maze(env: str, model: str) -> RunConfig:
    """One model in one maze."""
    # A maze takes 150 MB of memory.
    judged = EvalConfig(episodes=30, batch=10)
    data = DataConfig(episodes=EPISODES, options=("grade=noisy",), sample="step", top=TOP)
    config = standard(env, model, FACTS, data, judged, f"{env}/{model}")
    return edit(config, {**BUDGET, "model.encoder": ENCODER})


def paper(env: str) -> RunConfig:
    """RATE in the paper's size, on as many episodes."""
    model = MODELS.get("rate")(WINDOW, **PAPER_MODEL, encoder=EncoderConfig(name="image", padding=2))
    return edit(memory_maze(env, "rate"), {"recipe": f"{env}/rate-paper", "model": model, **PAPER})


for _env in NAMES:
    RECIPES.add(f"{_env}/rate-paper", partial(paper, _env))
    for _model in MODEL_NAMES:
        RECIPES.add(f"{_env}/{_model}", partial(memory_maze, _env, _model))


def runs() -> list[SuiteRun]:
    """The models of the paper's table in the smallest maze."""
    return [SuiteRun(name=f"{model}/seed0", config=memory_maze(NAMES[0], model)) for model in MODEL_NAMES]


SUITES.add(
    "memory-maze",
    Suite(
        name="memory-maze",
        summary="rate, dt, rmt, trxl, bc-lstm and cql-lstm in mazes of 9 x 9 cells, one seed",
        runs=runs,
    ),
)
