"""Recipes for T-Maze: every model, trained on 30 steps and evaluated from 9 to 9600, and the suites that compare them.

The recipes are the one recipe. The suites are published with sizes that were chosen before it, and keep them: RATE and
its relatives see three segments of ten steps, window models all thirty at once, recurrent ones step by step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig, edit
from rate.data.config import DataConfig
from rate.evaluation.evaluator import EvalConfig
from rate.facts import Facts
from rate.models import BUILT_IN, MODELS, ModelConfig
from rate.nn.encoding import EARLIER
from rate.objectives import OBJECTIVES
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.standard import standard
from rate.training.config import TrainConfig

WINDOW = 30
HORIZONS = (9, 30, 90, 150, 300, 600, 900, 1200, 2400, 4800, 9600)

SIZES: dict[str, Any] = {"layers": 2, "width": 64, "heads": 4, "head_width": 16}
MEMORY: dict[str, Any] = {**SIZES, "memory_tokens": 10, "memory_noise": 0.3}
"""The noise widens the basin in which the stored bit is kept: benchmarks/tmaze/retention has the study."""

KEEPING: dict[str, Any] = {"forget_bias": 3.0}
"""Gates that start on the side of keeping: with the usual bias of 1 recurrent models learn long corridors late."""

FIELDS: dict[str, dict[str, Any]] = {
    "rate": {**MEMORY, "valve_heads": 2},
    "rmt": MEMORY,
    "trxl": SIZES,
    "gtrxl": SIZES,
    "dt": SIZES,
    "oracle-dt": SIZES,
    "bc-lstm": KEEPING,
    "cql-lstm": KEEPING,
    "dlstm": {"forget_bias": 5.0},  # three updates per step: it must keep three times as long
    "dgru": KEEPING,
}
"""Model to the fields in which it differs from its preset; one that is not named does not."""
EVERY = tuple(dict.fromkeys([*FIELDS, *BUILT_IN]))
OBJECTIVE = {"cql-mlp": "cql", "cql-lstm": "cql"}
ORACLE = {"oracle-dt": "clue"}
CACHED = ("trxl", "gtrxl")
"""Their published runs have a cache as long as the window, of which training fills two thirds."""


FACTS = Facts(steps=WINDOW, open_ended=True, returns_vary=False, numbers=4)


def tmaze(model: str) -> RunConfig:
    """One model on corridors that take up to 30 steps."""
    data = DataConfig(episodes=6000, options=(f"length={WINDOW}",), oracle=ORACLE.get(model, ""))
    config = standard("tmaze", model, FACTS, data, EvalConfig(), f"tmaze/{model}")
    return edit(config, {"eval.cases": _cases(_horizons(config.model))})


def earlier(model: str, window: int = WINDOW) -> RunConfig:
    """One model on corridors that take up to `window` steps, as the published suites have it."""
    cache = {"cache_tokens": 3 * window} if model in CACHED else {}
    preset = MODELS.get(model)(window, **FIELDS.get(model, {}), **cache, encoder=EARLIER)
    objective = OBJECTIVE.get(model, "behaviour-cloning")
    return RunConfig(
        recipe=f"tmaze/{model}",
        env=EnvConfig(name="tmaze"),
        model=preset,
        objective=OBJECTIVES.get(objective)(name=objective),
        data=DataConfig(episodes=6000, options=(f"length={window}",), oracle=ORACLE.get(model, "")),
        train=TrainConfig(window=window, learning_rate=1e-3),
        eval=EvalConfig(cases=_cases(_horizons(preset))),
    )


def _horizons(model: ModelConfig) -> list[int]:
    return [horizon for horizon in HORIZONS if not slides(model) or horizon <= 900]


def slides(model: ModelConfig) -> bool:
    """Whether a context is recomputed at each step; the recipes leave out what is past 900 steps then."""
    return hasattr(model, "context")


def _cases(horizons: list[int]) -> tuple[str, ...]:
    return tuple(f"length={horizon}" for horizon in horizons)


for _model in EVERY:
    RECIPES.add(f"tmaze/{_model}", partial(tmaze, _model))


BUDGET: dict[str, Any] = {"train.steps": 500, "train.learning_rate": 3e-3}
"""What every model gets in the suites; benchmarks/tmaze/baselines says how it was chosen."""
LATE: dict[str, dict[str, Any]] = {
    "bc-lstm": {"train.steps": 1000},
    "cql-lstm": {"train.steps": 1000},
    "dlstm": {"train.steps": 2000},
    # Rates that keep for ten thousand tokens, steps that write: before training, a clue of 90 steps ago moves what is
    # predicted at the junction by two thousandths, and with the usual ones by three millionths.
    "dmamba": {"model.decay": 1e-3, "model.steps": (0.1, 1.0)},
}
"""At 90 steps these are at chance after 500 optimiser steps; what they get there."""


def baselines() -> Iterator[SuiteRun]:
    """Every model at three training lengths; three seeds at the middle one, where the lengths beyond count most."""
    for window, seeds in ((30, 3), (9, 1), (90, 1)):
        for seed in range(seeds):
            for model in EVERY:
                late = LATE.get(model, {}) if window > WINDOW else {}
                base = earlier(model, window)
                changes = {**BUDGET, **late, "seed": seed, **_judged(base.model, seed)}
                yield SuiteRun(name=f"{model}-{window}/seed{seed}", config=edit(base, changes))


def _judged(model: ModelConfig, seed: int) -> dict[str, Any]:
    """To 9600 steps. A window is recomputed at each of them: it is judged on fewer episodes, and so far only once."""
    horizons = [9, 30, 90, 150, 300, 600, 900, 9600]
    if not slides(model):
        return {"eval.cases": _cases(horizons)}
    return {"eval.cases": _cases(horizons if seed == 0 else horizons[:-1]), "eval.episodes": 40}


VALVE_NAMES = ("ca2", "ca1", "gate", "gru", "lstm", "none")


def valves(segment_len: int, changes: dict[str, Any]) -> Iterator[SuiteRun]:
    """RATE with each valve, trained on five segments, without the noise that helps all of them to keep."""
    window = 5 * segment_len
    cases = _cases(sorted({window, 150, 360, 600, 900}))
    for seed in range(3):
        for valve in VALVE_NAMES:
            given = {"model.valve": valve, "model.segment_len": segment_len, "model.memory_noise": 0.0}
            config = edit(earlier("rate", window), {**BUDGET, **given, "eval.cases": cases, "seed": seed, **changes})
            yield SuiteRun(name=f"{valve}/seed{seed}", config=config)


PAPER: dict[str, Any] = {
    "model.layers": 8,
    "model.heads": 8,
    "model.kv_heads": 8,
    "model.head_width": 32,
    "model.dropout": 0.2,
    "model.attention_dropout": 0.1,
    "train.steps": 20_000,
    "train.learning_rate": 1e-4,
    "train.warmup_steps": 1000,
    "train.weight_decay": 1e-3,
    "train.schedule": "constant",
}
"""The paper's size and optimiser for T-Maze."""

for _suite in (
    Suite(
        name="tmaze-five-seeds",
        summary="RATE as it was published first, five seeds, evaluated from 9 to 9600",
        runs=lambda: [SuiteRun(name=f"rate/seed{n}", config=edit(earlier("rate"), {"seed": n})) for n in range(5)],
    ),
    Suite(
        name="tmaze-baselines",
        summary="every model, trained on 9, 30 and 90 steps, evaluated from 9 to 9600",
        runs=lambda: list(baselines()),
    ),
    Suite(
        name="tmaze-valves",
        summary="the six valves, trained on five segments of six steps: a size that a laptop finishes",
        runs=lambda: list(valves(6, {})),
    ),
    Suite(
        name="tmaze-valves-paper",
        summary="the six valves at the paper's size: five segments of thirty steps, 20,000 optimiser steps",
        runs=lambda: list(valves(30, PAPER)),
    ),
):
    SUITES.add(_suite.name, _suite)
