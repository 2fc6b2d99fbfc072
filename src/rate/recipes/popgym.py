"""Recipes for POPGym: four models on each of the 48 tasks by the one recipe, and the suites that compare them.

The suites `popgym-six` and `popgym-three` are published with sizes that were chosen before it, and keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from rate.config import EnvConfig, RunConfig, edit
from rate.data.config import DataConfig
from rate.envs.popgym import PLAYED, TASKS
from rate.evaluation.evaluator import EvalConfig
from rate.facts import Facts
from rate.models import MODELS
from rate.nn.encoding import EARLIER
from rate.recipes.recipe import RECIPES
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.standard import NARROW, WIDE, half, standard
from rate.training.config import TrainConfig

LONGEST = 210
SEGMENTS = 3
BATCH = 32
"""Windows of up to 210 steps per optimiser step; of longer ones fewer, so that a step costs the same."""
CARRYING = ("rate", "bc-lstm")
"""Models that are trained on whole episodes."""

SIZES: dict[str, Any] = {"layers": 2, "width": 64, "heads": 4, "head_width": 16, "feed_forward": 256}
FIELDS: dict[str, dict[str, Any]] = {
    "rate": {**SIZES, "memory_tokens": 10, "valve_heads": 2},
    "dt": SIZES,
    "bc-lstm": {"previous_action": True},  # what a grid shows means nothing without the place that was asked about
    "bc-mlp": {},
}
"""Model to the fields in which it differs from its preset."""

SIX = ("RepeatFirst", "RepeatPrevious", "CountRecall", "Autoencode", "Concentration", "VelocityOnlyCartPole")
THREE = ("CountRecall", "Autoencode", "Concentration")
"""Those of the six that no model solves in 600 steps on 1,000 episodes."""
SMALL: dict[str, Any] = {"data.episodes": 600, "train.steps": 600, "train.learning_rate": 3e-3, "eval.episodes": 50}
"""What all 48 tasks get, with batches of a half: half a minute of one thread a run. So few steps must be large."""
LONGER: dict[str, Any] = {"data.episodes": 3000, "train.steps": 1500, "train.betas": (0.9, 0.95)}


FIXED = frozenset(
    {
        *("Autoencode", "CountRecall", "HigherLower", "MultiarmedBandit", "NoisyPositionOnlyPendulum"),
        *("PositionOnlyCartPole", "PositionOnlyPendulum", "RepeatFirst", "RepeatPrevious", "VelocityOnlyCartPole"),
    }
)
"""Families whose experts play all episodes of a task to one length."""
ALWAYS_RIGHT = frozenset(
    {"Autoencode", "CountRecall", "PositionOnlyCartPole", "RepeatFirst", "RepeatPrevious", "VelocityOnlyCartPole"}
)
"""Families whose experts always earn the same."""
MANY = frozenset({"Concentration"})
"""Families whose observations differ in more directions than a narrow token has."""

WORDS: dict[str, dict[str, Any]] = {
    # One wrong card leads to boards that an expert without mistakes never sees, nor how it goes on there: after 1,000
    # steps 0.50 with slips in the data and 0.38 without. Without dropout 3,000 episodes are learnt by heart: after
    # 2,700 steps the held-out loss is 1.03 and rising, with 10,000 it is 0.64 and falling. Returns were alike by then.
    "Concentration": {"data.options": ("epsilon=0.05",), "data.episodes": 10_000, "model.dropout": 0.0},
}
"""Families to what they need besides the one recipe."""


def _family(env: str) -> str:
    return env.removeprefix("popgym/").rpartition("-")[0]


def facts(env: str) -> Facts:
    """What the expert's data of a task says; a test holds this to the data."""
    family = _family(env)
    return Facts(
        steps=PLAYED[env],
        open_ended=family not in FIXED,
        returns_vary=family not in ALWAYS_RIGHT,
        numbers=WIDE if family in MANY else NARROW,
    )


def popgym(env: str, model: str) -> RunConfig:
    """One model on one task."""
    config = standard(env, model, facts(env), DataConfig(episodes=3000), EvalConfig(), f"{env}/{model}")
    return edit(config, WORDS.get(_family(env), {}))


def small(env: str, model: str) -> RunConfig:
    """One model on one task with a fraction of the budget: more steps of smaller batches learn sooner."""
    config = popgym(env, model)
    return edit(config, {**SMALL, "train.batch_size": half(config.train.batch_size)})


def window_of(env: str, model: str) -> tuple[int, int]:
    """Steps of a window and of its segments: the longest episode of a task, or as much as a sliding window can take."""
    steps = PLAYED[env] if model in CARRYING else min(PLAYED[env], LONGEST)
    segments = max(SEGMENTS, -(-steps * SEGMENTS // LONGEST))
    segment = -(-steps // segments)
    return segments * segment, segment


def earlier(env: str, model: str) -> RunConfig:
    """One model on one task, as the published suites have it."""
    window, segment = window_of(env, model)
    fields = {"segment_len": segment} if "memory_tokens" in FIELDS[model] else {}
    return RunConfig(
        recipe=f"{env}/{model}",
        env=EnvConfig(name=env),
        model=MODELS.get(model)(window, **FIELDS[model], **fields, encoder=EARLIER),
        data=DataConfig(episodes=1000, start="random" if PLAYED[env] > window else "first"),
        train=TrainConfig(
            window=window, steps=600, batch_size=BATCH * LONGEST // max(window, LONGEST), learning_rate=3e-3
        ),
        eval=EvalConfig(),
    )


for _env in TASKS:
    for _model in FIELDS:
        RECIPES.add(f"{_env}/{_model}", partial(popgym, _env, _model))


Make = Callable[[str, str], RunConfig]


def runs(
    make: Make, envs: Sequence[str], changes: dict[str, Any], models: Iterable[str] = FIELDS, seeds: int = 2
) -> Iterator[SuiteRun]:
    """Models on these tasks."""
    for seed in range(seeds):
        for env in envs:
            for model in models:
                config = edit(make(env, model), {"seed": seed, **changes})
                yield SuiteRun(name=f"{env.removeprefix('popgym/')}/{model}/seed{seed}", config=config)


for _suite in (
    Suite(
        name="popgym",
        summary="rate, dt and bc-lstm on all 48 tasks by the one recipe, with a fraction of its budget",
        runs=lambda: list(runs(small, TASKS, {}, ("rate", "dt", "bc-lstm"), 1)),
    ),
    Suite(
        name="popgym-six",
        summary="the same on six tasks at their easy level: some hours on two cores",
        runs=lambda: list(runs(earlier, [f"popgym/{family}-Easy" for family in SIX], {})),
    ),
    Suite(
        name="popgym-three",
        summary="the three of those six that it leaves unsolved, with more data and more steps",
        runs=lambda: list(runs(earlier, [f"popgym/{family}-Easy" for family in THREE], LONGER)),
    ),
    Suite(
        name="popgym-paper-like",
        summary="all 48 tasks, data that is as good or bad as the paper's",
        runs=lambda: list(runs(popgym, TASKS, {"data.options": ("grade=paper-like",), "data.episodes": 3000})),
    ),
):
    SUITES.add(_suite.name, _suite)
