"""The recipe for data of your own: what is not given on the command line is read off the data.

`rate train --data DATA [--env ENV]` starts from it; every value can be changed as in any recipe.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rate.config import RunConfig, edit
from rate.data.config import DataConfig
from rate.data.store import TrajectoryStore
from rate.envs.find import UNLIMITED, episode_limit, find_env, is_code
from rate.envs.spec import EnvSpec, EvalCase
from rate.errors import DataError, RateError
from rate.evaluation.evaluator import EvalConfig, cases_of, limited
from rate.experiment.data import arguments, misfits, shares_seeds
from rate.facts import Facts, facts_of
from rate.serial import Stored
from rate.standard import standard
from rate.system.files import reading, shown

LONGEST_WINDOW = 1024
"""Steps; windows of longer episodes start anywhere in them."""
EPISODES = 10
"""Of an evaluation during training."""
TARGET_QUANTILE = 0.95
MOST_EPISODES = 10_000
"""The data holds none of the first so many episodes of evaluation, as `rate eval --episodes` may ask for more."""
SET = "rate eval RUN --set name=value"


def own(
    store: TrajectoryStore,
    source: str,
    env: str,
    model: str = "rate",
    window: int | None = None,
    asked: Mapping[str, Any] | None = None,
    on_note: Callable[[str], None] = lambda text: None,
) -> RunConfig:
    """A run on the data of `store`, named `source`; with an empty `env` there is no environment.

    The sizes of the model follow from the `window` (None: from the longest episode). `asked` has the fields of the
    evaluation that were given, as it may ask for longer episodes. `on_note` gets what the user should know.
    """
    judged, limit = _judged(store, find_env(env), asked or {}, on_note) if env else (EvalConfig(), None)
    facts = _facts(store, limit, window)
    data = DataConfig(path=source, return_scale=max(1.0, float(np.abs(store.returns).max())))
    config = standard(env, model, facts, data, judged, "own")
    return edit(config, {"train.evaluate_every": None, "train.evaluate_episodes": EPISODES})


def _facts(store: TrajectoryStore, limit: int | None, window: int | None) -> Facts:
    """What the data says; with windows that are shorter than its episodes, the rest of them is asked for as well."""
    longest = int(store.lengths.max())
    facts, steps = facts_of(store, longer=limit is not None and limit > longest), min(longest, window or LONGEST_WINDOW)
    return facts if steps == longest else replace(facts, steps=steps, open_ended=True)


def named_env(store: TrajectoryStore) -> tuple[str, str]:
    """The environment that the data names, if it can be made and fits; else an empty name and the reason.

    A module that the data names is not imported: data must not decide which code is run.
    """
    name = Stored(store.card.get("environment") or "")
    if not name:
        return "", "the data names no environment"
    if is_code(name):
        return "", f"the data names the environment {shown(name)}, which is code; give --env {shown(name)} to use it"
    try:
        with reading(store.path, DataError):
            differ, given = misfits(store, find_env(name)), made_with(store, find_env(name))
    except RateError as reason:
        return "", f"the data names the environment {name!r}, which cannot be made: {reason}"
    made = f"; the data was made with {_written(given)}" if given else ""
    return ("", differ[0] + made) if differ else (name, "")


def _judged(
    store: TrajectoryStore, spec: EnvSpec, asked: Mapping[str, Any], on_note: Callable[[str], None]
) -> tuple[EvalConfig, int]:
    """How a policy is judged, and the steps of the longest episode then, where the evaluation is as asked.

    Where the case of an environment names no target, that is a return which one in twenty episodes reached.

    The highest return may be luck that no policy can repeat; far below it, the policy is asked for less than it can do.
    """
    cases = _cases(store, spec) or _cases_of_id(store, spec, on_note)
    case = cases_of(spec, cases or ("",))[0]
    target = None if case.target_return is not None else float(np.quantile(store.returns, TARGET_QUANTILE))
    limit = None if case.max_steps < UNLIMITED else _limit(store, spec, case)
    tried = (EvalConfig(seed=seed, episodes=MOST_EPISODES) for seed in itertools.count())
    unseen = next(config.seed for config in tried if not shares_seeds(store, config))
    judged = EvalConfig(cases=cases, target_return=target, max_steps=limit, seed=unseen)
    wanted = replace(judged, **asked)
    return judged, max(limited(one, wanted).max_steps for one in cases_of(spec, wanted.cases or ("",)))


def _limit(store: TrajectoryStore, spec: EnvSpec, case: EvalCase) -> int:
    named: int | None = case.kwargs.get("max_episode_steps") or episode_limit(spec)
    return named or 2 * int(store.lengths.max())


def _cases(store: TrajectoryStore, spec: EnvSpec) -> tuple[str, ...]:
    """One case: the arguments under which the data of this environment was made, as far as it tells."""
    made_here = store.card.get("environment") == spec.name
    options = store.card.get("options") or {} if made_here else {}
    taken = arguments(spec.case)
    texts = [f"{name}={json.dumps(value)}" for name, value in options.items() if name in taken]
    return (Stored(",".join(texts)),) if texts and not any("," in text for text in texts) else ()


def _cases_of_id(store: TrajectoryStore, spec: EnvSpec, on_note: Callable[[str], None]) -> tuple[str, ...]:
    """One case: the arguments with which data of a Gymnasium id was made, where they are not the usual ones."""
    given = made_with(store, spec)
    if not given:
        return ()
    text = _written(given)
    if all(name.isidentifier() and _is_simple(value) for name, value in given.items()) and _fits(store, spec, given):
        on_note(f"the data was made with {text}, and evaluation has the same; for other arguments: {SET}")
        return (Stored(text),)
    on_note(f"the data was made with {text}, but evaluation has the usual arguments; for others: {SET}")
    return ()


def made_with(store: TrajectoryStore, spec: EnvSpec) -> dict[str, Any]:
    """The arguments that Minari kept of a Gymnasium id, without those that the environment has anyway."""
    kept = json.loads((store.card.get("options") or {}).get("env_spec") or "{}")
    if kept.get("id") != spec.name.rpartition(":")[2]:
        return {}
    limit = {"max_episode_steps": kept["max_episode_steps"]} if kept.get("max_episode_steps") else {}
    usual = _usual(spec)
    given = {**kept.get("kwargs", {}), **limit}
    return {
        name: Stored(value) if isinstance(value, str) else value
        for name, value in given.items()
        if name != "render_mode" and value != usual.get(name)
    }


def _usual(spec: EnvSpec) -> dict[str, Any]:
    """The arguments that an environment is registered with, as JSON values."""
    env = spec.make()
    env.close()
    known = {**env.spec.kwargs, "max_episode_steps": env.spec.max_episode_steps} if env.spec else {}
    return dict(json.loads(json.dumps(known, default=str)))


def _written(given: dict[str, Any]) -> str:
    return ",".join(f"{name}={json.dumps(value)}" for name, value in given.items())


def _is_simple(value: Any) -> bool:
    """Whether a case can hold it."""
    if isinstance(value, str):
        return "," not in value
    return isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _fits(store: TrajectoryStore, spec: EnvSpec, given: dict[str, Any]) -> bool:
    """Whether the environment can be made with these arguments, and has the spaces of the data then."""
    try:
        return not misfits(store, replace(spec, make=partial(spec.make, **given)))
    except RateError:
        return False
