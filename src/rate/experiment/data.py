"""The data of a run: own data that is checked against the environment, or the expert's, collected once."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rate.config import RunConfig
from rate.data.collect import OnEpisode, dataset_name
from rate.data.config import DataConfig
from rate.data.mixture import joined, parse_mixture
from rate.data.open import open_data
from rate.data.sampling import Ids, best_of, weights_of
from rate.data.space_json import same_form, same_space
from rate.data.store import TrajectoryStore, is_store
from rate.data.windows import Windows, split_episodes
from rate.envs.find import find_env
from rate.envs.spec import CollectRequest, EnvSpec, spaces_of
from rate.errors import DataError
from rate.evaluation.evaluator import EvalConfig
from rate.experiment.collecting import collect_to
from rate.experiment.executors import Executor
from rate.options import parse_options
from rate.seeding import Purpose, episode_seeds
from rate.system.files import read_json, shown
from rate.training.run_dir import RunDir


def data_root() -> Path:
    """Where collected data sets are kept: $RATE_DATA, else ./data."""
    return Path(os.environ.get("RATE_DATA", "data"))


def prepare_data(env: str, config: DataConfig, on_episode: OnEpisode | None = None) -> TrajectoryStore:
    """Open the data of a run; what the expert has not demonstrated yet is collected, once per request.

    Where there is data, the environment may be missing (empty).
    """
    more = [path for path, _ in parse_mixture(config.mixture)]
    stores = [_opened(path, env) for path in (config.path, *more) if path]
    if not config.path:
        spec = find_env(env)
        request = CollectRequest(episodes=config.episodes, seed=config.seed, kwargs=parse_options(config.options))
        stores.insert(0, open_data(str(collect_once(spec, request, on_episode)), data_root()))
    return joined(stores) if config.mixture else stores[0]


def _opened(path: str, env: str) -> TrajectoryStore:
    store = open_data(path, data_root())
    if env:
        check_environment(store, find_env(env))
    return store


def collect_once(
    spec: EnvSpec,
    request: CollectRequest,
    on_episode: OnEpisode | None = None,
    *,
    workers: int = 1,
    executor: Executor | None = None,
) -> Path:
    """The place under `data_root` of the data set that a request names; it is collected if it is not there."""
    path = data_root() / dataset_name(spec, request)
    if not is_store(path):
        try:
            collect_to(spec, request, path, workers=workers, executor=executor, on_episode=on_episode)
        except DataError:
            if not is_store(path):  # else another process was faster
                raise
    return path


def check_environment(store: TrajectoryStore, spec: EnvSpec) -> None:
    """Refuse data of another environment."""
    for reason in misfits(store, spec):
        raise DataError(reason)


def misfits(store: TrajectoryStore, spec: EnvSpec) -> list[str]:
    """In what the spaces of the data and of an environment differ."""
    options = store.card.get("options") if store.card.get("environment") == spec.name else None
    spaces = spaces_of(spec, **{name: value for name, value in (options or {}).items() if name in arguments(spec.make)})
    pairs = [(kind, getattr(store.spaces, kind), getattr(spaces, kind)) for kind in ("observation", "action")]
    return [
        f"the data set has {kind}s {mine}, the environment {spec.name!r} has {theirs}: they differ"
        f"{_advice(store, spec) if same_form(mine, theirs) else ''}"
        for kind, mine, theirs in pairs
        if not same_space(mine, theirs)
    ]


def _advice(store: TrajectoryStore, spec: EnvSpec) -> str:
    """Where only bounds differ, an import has guessed them."""
    file = store.card["options"].get("file")
    if not isinstance(file, str) or store.card.get("environment"):
        return ""
    again = f"rate data import {shown(file)} --env {spec.name} --out DIRECTORY"
    return f" in bounds, which were guessed; import it again: {again}"


def arguments(function: Callable[..., Any]) -> list[str]:
    """The arguments that a function names; those of somebody's code, which takes any, are none."""
    named = inspect.signature(function).parameters.values()
    return [one.name for one in named if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]


def chosen_episodes(config: DataConfig, store: TrajectoryStore) -> tuple[Ids, Ids]:
    """Those to train on and those that are held out; of both, the share with the highest returns."""
    train_ids, valid_ids = split_episodes(len(store), config.validation_fraction, config.seed)
    return best_of(store, train_ids, config.top), best_of(store, valid_ids, config.top)


def cut_windows(config: RunConfig, store: TrajectoryStore, lookahead: int = 0) -> tuple[Windows, Windows | None]:
    """The windows of the training episodes and of those that are held out, if there are any."""
    data = config.data
    longest = int(store.lengths.max())
    train_ids, valid_ids = chosen_episodes(data, store)

    shares = [1.0, *(weight for _, weight in parse_mixture(data.mixture))] if data.mixture else []

    def cut(ids: Any, training: bool) -> Windows:
        return Windows(
            store,
            ids,
            length=config.train.window,
            start=data.start if data.start != "auto" else "random" if longest > config.train.window else "first",
            return_scale=data.return_scale,
            oracle=data.oracle,
            lookahead=lookahead,
            seed=config.seed,
            weights=weights_of(store, ids, data.sample, shares) if training else None,
            shift=data.shift if training else 0,
        )

    return cut(train_ids, True), cut(valid_ids, False) if len(valid_ids) else None


def never_seen(windows: Windows) -> list[str]:
    """One line where steps are never trained on, or where windows leave out how episodes begin."""
    lengths, length = windows.lengths, windows.length
    over = np.maximum(lengths - length, 0)
    if not over.any():
        return []
    if windows.start == "first":
        share = float(over.sum() / lengths.sum())
        said = f"{share:.1%} of the steps of the data come after the first {length} of their episode"
        return [f"{said} and are never trained on; data.start = random, or a longer train.window, uses them"]
    share = float((over / (over + 1)).mean())
    said = f"episodes have up to {int(lengths.max())} steps and windows {length}: {share:.1%} of the windows"
    return [f"{said} do not begin where their episode does, so what is shown there may be missing in them"]


def check_same_data(run: RunDir, store: TrajectoryStore) -> None:
    """Refuse data that has changed since the run was started; runs of older versions do not tell what theirs was."""
    meta = read_json(run.meta) if run.meta.exists() else {}
    known = meta.get("data") if isinstance(meta, dict) else meta
    if known not in (None, store.digest):
        raise DataError(f"{store.path} is not the data that {run.path} was trained on: it has changed since")


def shares_seeds(store: TrajectoryStore, config: EvalConfig) -> bool:
    """Whether the data holds episodes on which a run will be judged."""
    judged = episode_seeds(Purpose.REPORT, config.seed, config.episodes)
    return bool(np.isin(store.seeds, judged).any())
