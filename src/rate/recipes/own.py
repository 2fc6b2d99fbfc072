"""The recipe for data of your own: what is not given on the command line is read off the data.

`rate train --data DATA [--env ENV]` starts from it; every value can be changed as in any recipe.
"""

from __future__ import annotations

import inspect
import itertools
import json

import numpy as np

from rate.config import EnvConfig, RunConfig
from rate.data.store import TrajectoryStore
from rate.data.windows import DataConfig
from rate.envs.own import FACTORY, UNLIMITED, episode_limit, find_env
from rate.envs.spec import EnvSpec
from rate.errors import RateError
from rate.evaluation.evaluator import EvalConfig
from rate.experiment.data import misfits, shares_seeds
from rate.models import MODELS
from rate.objectives import OBJECTIVES
from rate.training.config import TrainConfig

LONGEST_WINDOW = 90
"""Windows of longer episodes start anywhere in them."""
SEGMENTS = 3
TARGET_QUANTILE = 0.95


def own(store: TrajectoryStore, source: str, env: str, model: str = "rate") -> RunConfig:
    """A run on the data of `store`, named `source`; with an empty `env` there is no environment."""
    window = window_of(store)
    chosen = MODELS.get(model)(window)
    objective = "cql" if getattr(chosen, "head", "") == "value" else "behaviour-cloning"
    return RunConfig(
        recipe="own",
        env=EnvConfig(name=env),
        model=chosen,
        objective=OBJECTIVES.get(objective)(name=objective),
        data=DataConfig(
            path=source,
            start="random" if int(store.lengths.max()) > window else "first",
            return_scale=max(1.0, float(np.abs(store.returns).max())),
        ),
        train=TrainConfig(window=window, learning_rate=1e-3),
        eval=_judged(store, find_env(env)) if env else EvalConfig(),
    )


def window_of(store: TrajectoryStore) -> int:
    """The longest episode and at most 90 steps, as three segments of one length; a single step is one segment."""
    longest = int(store.lengths.max())
    return min(LONGEST_WINDOW, SEGMENTS * -(-longest // SEGMENTS)) if longest > 1 else 1


def named_env(store: TrajectoryStore) -> tuple[str, str]:
    """The environment that the data names, if it can be made and fits; else an empty name and the reason.

    A factory that the data names is not called: data must not decide which code is run.
    """
    name = str(store.card.get("environment") or "")
    if not name:
        return "", "the data names no environment"
    if FACTORY.fullmatch(name):
        return "", f"the data names the environment {name}, which is code; give --env {name} to use it"
    try:
        differ = misfits(store, find_env(name))
    except RateError as reason:
        return "", f"the data names the environment {name!r}, which cannot be made: {reason}"
    return ("", differ[0]) if differ else (name, "")


def _judged(store: TrajectoryStore, spec: EnvSpec) -> EvalConfig:
    """Where the case of an environment names no target, that is a return which one in twenty episodes reached.

    The highest return may be luck that nobody can repeat; far below it, the policy is asked for less than it can do.
    """
    case = spec.case()
    target = None if case.target_return is not None else float(np.quantile(store.returns, TARGET_QUANTILE))
    limit = None if case.max_steps < UNLIMITED else episode_limit(spec) or 2 * int(store.lengths.max())
    seeds = (EvalConfig(seed=seed) for seed in itertools.count())
    unseen = next(config.seed for config in seeds if not shares_seeds(store, config))
    return EvalConfig(cases=_cases(store, spec), target_return=target, max_steps=limit, seed=unseen)


def _cases(store: TrajectoryStore, spec: EnvSpec) -> tuple[str, ...]:
    """One case: the arguments under which the data of this environment was made, as far as it tells."""
    made_here = store.card.get("environment") == spec.name
    options = store.card.get("options") or {} if made_here else {}
    taken = inspect.signature(spec.case).parameters
    texts = [f"{name}={json.dumps(value)}" for name, value in options.items() if name in taken]
    return (",".join(texts),) if texts and not any("," in text for text in texts) else ()
