"""Recipes for ViZDoom-Two-Colors: trained on 90 steps, of which the pillar is shown for 45, judged on 2,100.

They are the one recipe, with convolutions of few channels, and fewer windows, of which single steps come first. A step
of RATE takes 0.08 s of one thread, and the other models take as long (benchmarks/vizdoom-two-colors). The suite also
has windows of 150 steps; `rate-paper` has the paper's sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rate.config import RunConfig, edit
from rate.data.config import DataConfig
from rate.envs.vizdoom import NAME
from rate.evaluation.evaluator import EvalConfig
from rate.facts import Facts
from rate.nn.encoding import EncoderConfig
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.standard import standard

MODELS = ("rate", "dt", "rmt", "trxl", "bc-lstm", "oracle-dt")
WINDOW, LONGER = 90, 150
ORACLE = {"oracle-dt": "green"}
CASES = ("pillar=45", "pillar=0")
"""With the pillar, and without: what is left then is not memory."""
TARGET = 5.0
"""The return that is asked for at each step: that of 90 steps of the data. 2,100 steps are worth more than twenty times
as much, which no model has ever seen, and a countdown of which would pass through all that it has."""
SEEN, STEPS = 720, 5000
"""Steps of episodes in a batch, and optimiser steps: to see takes many small ones more than few large ones."""
ENCODER = EncoderConfig(name="image", channels=(16, 32, 32), padding=1, scale="data", normalise="on")
NOISE = "noise=0.15"
"""Of the data. With the paper's return (0.4) to know the colour is worth half as much to a model, in a larger noise."""
SHARES = (30, 6, 3, 1, 1, 1)
"""So many times shorter windows are, one length after the other: that the colour counts shows in many episodes, and in
steps without the ones before, in which an expert that turns to an item gives away what it knows."""

PAPER: dict[str, Any] = {
    "model.layers": 6,
    "model.heads": 8,
    "model.head_width": 8,
    "model.segment_len": 50,
    "model.memory_tokens": 15,
    "model.memory_noise": 0.0,
    "model.memory_noise_from": 0.0,
    "model.memory_noise_ramp": 0.0,
    "model.memory_noise_unit": "one",
    "model.cache_tokens": 100,
    "model.valve_heads": 2,
    "model.valve_bias": 0.0,
    "model.valve_start": "random",
    "model.dropout": 0.2,
    "model.attention_dropout": 0.05,
    "model.encoder": EncoderConfig(name="image"),
    "data.episodes": 5000,
    "data.options": (f"max_steps={LONGER}", "height=64"),
    "model.previous_action": True,
    "train.segment_lens": (),
    "train.windows": (),
    "train.thinned": False,
    "train.steps": 5860,  # 150 epochs
    "train.batch_size": 128,
    "train.learning_rate": 3e-4,
    "train.betas": (0.9, 0.999),
    "train.weight_decay": 0.001,
    "train.clip": 5.0,
    "train.schedule": "constant",
    "eval.cases": tuple(f"{case},height=64" for case in CASES),
    "eval.target_return": 56.5,
    "eval.prompt": "countdown",
}


def two_colors(model: str, window: int = WINDOW) -> RunConfig:
    """One model on episodes of so many steps."""
    facts = Facts(steps=window, open_ended=True, returns_vary=True, numbers=0)
    data = DataConfig(episodes=4000, options=(f"max_steps={window}", NOISE), oracle=ORACLE.get(model, ""))
    # Who is told the colour needs no pillar. Each episode of a batch has an engine, which is a process.
    cases = CASES[:1] if model in ORACLE else CASES
    judged = EvalConfig(cases=cases, episodes=100, batch=25, target_return=TARGET * window / WINDOW, prompt="constant")
    config = standard(NAME, model, facts, data, judged, f"{NAME}/{model}")
    fields: dict[str, Any] = {
        "model.encoder": ENCODER,
        "model.previous_action": False,  # most actions repeat the one before, and to repeat is learnt before to look
        "train.batch_size": round(SEEN / window),
        "train.windows": tuple(window // share for share in SHARES),
        "train.thinned": True,
        "train.steps": STEPS,
        "train.learning_rate": 3e-3,
        "train.borders": "even",
    }
    if getattr(config.model, "memory_tokens", 0):
        # The table was made with these and that rate; the one recipe has shorter segments and a lower one since.
        half = facts.segment // 2
        fields |= {"model.segment_len": half, "train.segment_lens": (window, window // 2, facts.segment, half)}
    return edit(config, fields)


def paper(window: int) -> RunConfig:
    """RATE in the paper's size, on its larger images."""
    return edit(two_colors("rate", window), {"recipe": f"{NAME}/rate-paper", **PAPER})


RECIPES.add(f"{NAME}/rate-paper", partial(paper, LONGER))
for _model in MODELS:
    RECIPES.add(f"{NAME}/{_model}", partial(two_colors, _model))


def runs() -> Iterator[SuiteRun]:
    """What memory is worth first: RATE, DT without it, and DT that is told the colour."""
    for seed in range(2):
        for model in ("rate", "dt", "oracle-dt"):
            yield SuiteRun(name=f"{model}/seed{seed}", config=edit(two_colors(model), {"seed": seed}))
    for model in ("rmt", "trxl", "bc-lstm"):
        yield SuiteRun(name=f"{model}/seed0", config=two_colors(model))
    for model in ("rate", "dt", "bc-lstm"):
        yield SuiteRun(name=f"{model}-{LONGER}/seed0", config=two_colors(model, LONGER))


SUITES.add(
    "vizdoom",
    Suite(
        name="vizdoom",
        summary="ViZDoom-Two-Colors: rate, dt and oracle-dt, then rmt, trxl and bc-lstm; 90 and 150 steps of data",
        runs=lambda: list(runs()),
    ),
)
