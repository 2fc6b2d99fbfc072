"""One recipe for every task: sizes and training follow from what its data says, and from nothing else.

`benchmarks/learning` has the study behind it. The suite `learning` runs it on tasks that ask for different memories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.config import EnvConfig, RunConfig
from rate.data.checks import leaf_spaces
from rate.data.config import DataConfig
from rate.data.store import TrajectoryStore
from rate.envs.popgym import PLAYED
from rate.evaluation.evaluator import EvalConfig
from rate.models import MODELS, ModelConfig
from rate.recipes.suites import SUITES, Suite, SuiteRun
from rate.training.config import TrainConfig
from rate.types import Array

SEGMENTS, LONGEST_SEGMENT = 3, 70
MOST_ROWS = 30
"""Memory tokens, as the paper has for POPGym; fewer where a segment has fewer steps."""
STEPS, BATCH = 1000, 32
SAMPLE = 2000
"""Observations that are looked at."""
SAME = 1e-3
"""Returns that differ by less than this share are the same."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the data of a task says."""

    steps: int
    """Of the longest episode."""
    fixed: bool
    """All episodes have this length."""
    open_ended: bool
    """Longer episodes than the data has will be asked for: memory must keep over more updates than windows have."""
    returns_vary: bool
    """Else the return-to-go says nothing but the time, and says it wrongly after a mistake."""
    numbers: int
    """Independent directions in which observations differ: a token that is narrower cannot hold them."""

    @property
    def segment(self) -> int:
        """K: a third of the episode or at most 70 steps, an even number, so that half of it is a segment too."""
        segments = max(SEGMENTS, -(-self.steps // LONGEST_SEGMENT))
        return 2 * -(-self.steps // (2 * segments))

    @property
    def window(self) -> int:
        """The whole episode."""
        return -(-self.steps // self.segment) * self.segment


def facts_of(store: TrajectoryStore, *, open_ended: bool) -> Facts:
    """What can be read off the data; whether longer episodes will be asked for is known to the environment alone."""
    lengths, returns = store.lengths, store.returns
    return Facts(
        steps=int(lengths.max()),
        fixed=bool(lengths.min() == lengths.max()),
        open_ended=open_ended,
        returns_vary=bool(np.ptp(returns) > SAME * np.abs(returns).max()),
        numbers=directions(store),
    )


def directions(store: TrajectoryStore) -> int:
    """How many directions hold 99 % of the variance of observations, each class of a choice a number; images: none."""
    spaces = {name: space for name, space in leaf_spaces(store.spaces).items() if name != "actions"}
    shard = store.shards[0]
    rows = np.random.default_rng(0).integers(0, len(shard.columns[next(iter(spaces))]), SAMPLE)
    parts = [_numbers(np.asarray(shard.columns[name][rows]), space) for name, space in spaces.items()]
    table = np.concatenate([part - part.mean(0) for part in parts], 1)
    variance = np.linalg.svd(table, compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(variance), 0.99 * variance.sum())) + 1 if variance.sum() > 0 else 0


def _numbers(rows: Array, space: gym.Space[Any]) -> NDArray[np.float64]:
    """Rows of numbers, in units of their spread; classes as one number each."""
    flat = rows.reshape(len(rows), -1)
    if isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
        return np.concatenate([np.eye(column.max() - column.min() + 1)[column - column.min()] for column in flat.T], 1)
    if isinstance(space, gym.spaces.Box) and len(space.shape) >= 3:
        return np.zeros((len(rows), 1))
    spread = flat.astype(np.float64).std(0)
    return flat / np.where(spread > 0, spread, 1)


def model_of(name: str, facts: Facts) -> ModelConfig:
    """The same tokens, width and depth for all models; what is left is how they remember."""
    width = 64 if facts.numbers <= 64 else 128
    given = {"return_to_go": facts.returns_vary, "previous_action": True, "width": width}
    # A clock tells nothing where the length varies, and the wrong thing beyond the length of the data.
    given["timesteps"] = facts.steps if facts.fixed and not facts.open_ended else 0
    network = {"layers": 2, "heads": 4, "head_width": width // 4, "feed_forward": 4 * width}
    own: dict[str, dict[str, Any]] = {
        "rate": {
            **network,
            "segment_len": facts.segment,
            "memory_tokens": min(MOST_ROWS, max(10, facts.segment)),
            "memory_noise": 0.3 if facts.open_ended else 0.0,
            "valve_bias": 4.0,
            "valve_start": "aligned",
        },
        "dt": network,
        "bc-lstm": {"hidden": 2 * width, "forget_bias": 3.0},
    }
    return MODELS.get(name)(facts.window, **given, **own[name])


def train_of(name: str, facts: Facts) -> TrainConfig:
    """The same training for all models, but that RATE is cut into long segments first, then into shorter ones as well,
    where it must keep for longer: long ones teach the task, short ones to keep over more updates.
    """
    segment, window = facts.segment, facts.window
    lengths = (window, segment, segment // 2) if name == "rate" and facts.open_ended else ()
    return TrainConfig(
        window=window,
        steps=STEPS,
        batch_size=BATCH,
        learning_rate=3e-3,
        betas=(0.9, 0.95),
        segment_lens=lengths,
    )


def standard(env: str, model: str, facts: Facts, data: DataConfig, cases: tuple[str, ...] = ()) -> RunConfig:
    """One model on one task."""
    return RunConfig(
        recipe="standard",
        env=EnvConfig(name=env),
        model=model_of(model, facts),
        data=data,
        train=train_of(model, facts),
        eval=EvalConfig(cases=cases),
    )


def _popgym(family: str, numbers: int, *, fixed: bool) -> tuple[str, Facts, DataConfig, tuple[str, ...]]:
    env = f"popgym/{family}-Easy"
    facts = Facts(steps=PLAYED[env], fixed=fixed, open_ended=False, returns_vary=not fixed, numbers=numbers)
    return env, facts, DataConfig(episodes=3000), ()


def tasks() -> Iterator[tuple[str, Facts, DataConfig, tuple[str, ...]]]:
    """Tasks that ask for a bit over a long time, for many things at once, or for things that change."""
    bit = {"fixed": False, "open_ended": True, "returns_vary": False}
    lengths = tuple(f"length={length}" for length in (30, 90, 900, 9600))
    yield "tmaze", Facts(steps=30, numbers=4, **bit), DataConfig(episodes=6000, options=("length=30",)), lengths
    chain = DataConfig(episodes=3000, options=("corridors=3", "length=30"))
    yield "tmaze-endless", Facts(steps=90, numbers=4, **bit), chain, ("corridors=3", "corridors=10", "corridors=30")
    exact = DataConfig(episodes=6000, options=("length=90",))
    yield "aar", Facts(steps=90, numbers=3, **{**bit, "fixed": True}), exact, ("length=90", "length=180")
    sizes = tuple(f"size={size}" for size in (41, 61, 151, 501))
    grids = DataConfig(episodes=5000, options=("size=41",))
    yield "minigrid-memory", Facts(steps=90, numbers=11, **{**bit, "returns_vary": True}), grids, sizes
    yield _popgym("Autoencode", 4, fixed=True)
    yield _popgym("CountRecall", 2, fixed=True)
    yield _popgym("Concentration", 88, fixed=False)


def runs() -> Iterator[SuiteRun]:
    """RATE, a window and a recurrent network with the same options; three seeds."""
    for seed in range(3):
        for env, facts, data, cases in tasks():
            for model in ("rate", "dt", "bc-lstm"):
                config = replace(standard(env, model, facts, data, cases), seed=seed)
                yield SuiteRun(name=f"{env.removeprefix('popgym/')}/{model}/seed{seed}", config=config)


SUITES.add(
    "learning",
    Suite(
        name="learning",
        summary="one recipe for rate, dt and bc-lstm on seven tasks that ask for different memories",
        runs=lambda: list(runs()),
    ),
)
