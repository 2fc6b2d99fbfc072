"""The data of a run: own data that is checked against the environment, or the expert's, collected once."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rate.data.collect import collect, dataset_name
from rate.data.open import open_data
from rate.data.spaces import same_space
from rate.data.store import TrajectoryStore, is_store
from rate.data.windows import DataConfig, parse_options
from rate.envs import ENVS
from rate.envs.spec import CollectRequest, EnvSpec, spaces_of
from rate.errors import DataError
from rate.evaluation.evaluator import EvalConfig
from rate.seeding import Purpose, episode_seeds

OnEpisode = Callable[[int, int], None]


def data_root() -> Path:
    """Where collected data sets are kept: $RATE_DATA, else ./data."""
    return Path(os.environ.get("RATE_DATA", "data"))


def prepare_data(env: str, config: DataConfig, on_episode: OnEpisode | None = None) -> TrajectoryStore:
    """Open the data of a run; what the expert has not demonstrated yet is collected, once per request."""
    spec, root = ENVS.get(env), data_root()
    if config.path:
        store = open_data(config.path, root)
        check_environment(store, spec)
        return store
    request = CollectRequest(episodes=config.episodes, seed=config.seed, kwargs=parse_options(config.options))
    return open_data(str(collect_once(spec, request, on_episode)), root)


def collect_once(spec: EnvSpec, request: CollectRequest, on_episode: OnEpisode | None = None) -> Path:
    """The place under `data_root` of the data set that a request names; it is collected if it is not there."""
    path = data_root() / dataset_name(spec, request)
    if not is_store(path):
        _check_free(path)
        _collect_aside(spec, request, path, on_episode)
    return path


def _check_free(path: Path) -> None:
    """Refuse what `rate collect --out` leaves there if it is killed."""
    if path.exists() and not is_store(path):
        raise DataError(f"{path} is in the way and holds no whole data set; delete it and start again")


def _collect_aside(spec: EnvSpec, request: CollectRequest, path: Path, on_episode: OnEpisode | None) -> None:
    """Collect beside the place and move there, so that runs may be killed, or collect the same data, at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        collect(spec, request, aside / path.name, on_episode)
        os.replace(aside / path.name, path)
    except OSError:
        _check_free(path)
        if not is_store(path):  # else another run was faster
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_environment(store: TrajectoryStore, spec: EnvSpec) -> None:
    """Refuse data of another environment."""
    options = store.card.get("options") if store.card.get("environment") == spec.name else None
    taken = inspect.signature(spec.make).parameters
    spaces = spaces_of(spec, **{name: value for name, value in (options or {}).items() if name in taken})
    for kind in ("observation", "action"):
        mine, theirs = getattr(store.spaces, kind), getattr(spaces, kind)
        if not same_space(mine, theirs):
            raise DataError(f"the data set has {kind}s {mine}, the environment {spec.name!r} has {theirs}: they differ")


def shares_seeds(store: TrajectoryStore, config: EvalConfig) -> bool:
    """Whether the data holds episodes on which a run will be judged."""
    judged = episode_seeds(Purpose.REPORT, config.seed, config.episodes)
    return bool(np.isin(store.seeds, judged).any())
