"""Minari data sets in and out. Nothing is ever downloaded.

Every step is kept without loss. Infos that do not have a row per observation, of one form in all episodes, are left
out, and the card names them.

Minari is a format of exchange here: training reads the packed columns that `load_minari` makes once.
"""

from __future__ import annotations

import importlib
import json
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rate.data.checks import as_rewards, common_infos, conform, like, reward_dtype
from rate.data.columns import disk_errors, space_form
from rate.data.spaces import spaces_from_json, spaces_to_json
from rate.data.store import StoreWriter, TrajectoryStore, is_store
from rate.errors import DataError, MissingExtraError
from rate.registry import did_you_mean
from rate.types import Spaces, Trajectory, Tree, tree_map

METADATA = "metadata.json"
OURS = "rate"
"""The key of Minari's metadata under which we keep what Minari has no place for."""


def _minari(module: str = "minari") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError("minari", "minari") from error


@contextmanager
def _minari_errors(what: str) -> Iterator[None]:
    """Minari and h5py raise all sorts of exceptions for a file that is not as they expect."""
    try:
        yield
    except ImportError as error:  # Minari imports h5py when it first touches a file
        raise MissingExtraError("minari[hdf5]", "minari") from error
    except (OSError, ValueError, KeyError, AssertionError, TypeError, NotImplementedError) as error:
        text = " ".join(str(error).split())[:200]
        raise DataError(f"{what}: {text or type(error).__name__}") from error


def data_directory(source: Path | str) -> Path | None:
    """The directory with the files of a Minari data set, given that or its parent; None if it is neither."""
    for path in (Path(source), Path(source) / "data"):
        if (path / METADATA).is_file():
            return path
    return None


def _locate(source: str) -> Path:
    found = data_directory(source)
    if found is not None:
        return found
    root = _minari("minari.storage.datasets_root_dir").get_dataset_path()
    local = list(_local_ids())
    if source in local:
        return Path(root) / source / "data"
    hint = did_you_mean(source, local)
    raise DataError(f"no Minari data set {source!r} under {root} (nothing is downloaded); {hint}")


def _local_ids() -> list[str]:
    with warnings.catch_warnings(), _minari_errors("cannot list the local Minari data sets"):
        warnings.simplefilter("ignore")
        return list(_minari().list_local_datasets())


def load_minari(source: str, path: Path | str) -> TrajectoryStore:
    """Convert a local Minari data set (an id or a directory) into a store at `path`, or open it if that is done."""
    directory = _locate(source)
    stamp = _fingerprint(directory)
    if is_store(path):
        store = TrajectoryStore.open(path)
        if store.card["options"].get("source") != stamp:
            raise DataError(f"{path} was made from another version of {source}; delete it to convert again")
        return store
    with _minari_errors(f"cannot read the Minari data set {source}"):
        data = _minari().MinariDataset(directory)
        metadata = data.storage.metadata
        ours = json.loads(metadata.get(OURS, "{}"))
    spaces = Spaces(observation=data.observation_space, action=data.action_space)
    writer = StoreWriter(
        path,
        spaces=spaces_from_json(ours["spaces"]) if ours else spaces,
        environment=ours.get("environment") or (data.env_spec.id if data.env_spec else ""),
        options={**ours.get("options", {}), "source": stamp, **_env_spec(metadata)},
        generator=ours.get("generator") or f"Minari {data.spec.dataset_id}",
    )
    rewards, infos, dropped = _survey(data, source)
    writer.dropped_infos.update(ours.get("dropped_infos", ()), dropped)
    with writer:
        for index in range(data.total_episodes):
            writer.add(_trajectory(data, source, index, writer.spaces, rewards, infos))
    return TrajectoryStore.open(path, check=False)


def _env_spec(values: Mapping[str, Any]) -> dict[str, str]:
    """Gymnasium's description of the environment, as Minari keeps it: JSON text."""
    return {"env_spec": values["env_spec"]} if "env_spec" in values else {}


def _fingerprint(directory: Path) -> dict[str, list[int]]:
    """Tells whether a converted copy is still of this data."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): [path.stat().st_size, path.stat().st_mtime_ns] for path in files}


@contextmanager
def _episode(data: Any, source: str, index: int) -> Iterator[Mapping[str, Any]]:
    """One episode as Minari gives it; what is wrong with it is said in one line."""
    with _minari_errors(f"cannot read episode {index} of the Minari data set {source}"):
        yield next(iter(data.storage.get_episodes([index])))


def _survey(data: Any, source: str) -> tuple[np.dtype[Any], dict[str, Tree], set[str]]:
    """What columns for all episodes need: a dtype for rewards, the infos that fit; and the names of those that do not.

    All episodes are read for it, since the last one may differ from the others.
    """
    dtypes = set[np.dtype[Any]]()

    def infos() -> Iterator[tuple[dict[str, Tree], int]]:
        for index in range(data.total_episodes):
            with _episode(data, source, index) as episode:
                dtypes.add(episode["rewards"].dtype)
                yield _infos(episode), len(episode["rewards"]) + 1

    fitting, others = common_infos(infos())
    return reward_dtype(dtypes), fitting, others


def _trajectory(
    data: Any, source: str, index: int, spaces: Spaces, rewards: np.dtype[Any], infos: Mapping[str, Tree]
) -> Trajectory:
    with _episode(data, source, index) as episode:
        seed = next(iter(data.storage.get_episode_metadata([index]))).get("seed")
        found = _infos(episode)
        return Trajectory(
            observations=conform(episode["observations"], spaces.observation),
            actions=conform(episode["actions"], spaces.action),
            rewards=as_rewards(episode["rewards"], rewards),
            terminations=episode["terminations"].astype(bool),
            truncations=episode["truncations"].astype(bool),
            infos={name: like(found[name], kind) for name, kind in infos.items()},
            seed=-1 if seed is None else int(seed),
        )


def _infos(episode: Mapping[str, Any]) -> dict[str, Tree]:
    return {name: _info(value) for name, value in (episode["infos"] or {}).items()}


def _info(tree: Tree) -> Tree:
    """Undo what HDF5 makes of tuples (groups with numbered names) and of text (objects of bytes)."""
    if isinstance(tree, Mapping):
        parts = {key: _info(part) for key, part in tree.items()}
        numbered = [f"_index_{index}" for index in range(len(parts))]
        return tuple(parts[key] for key in numbered) if parts and set(parts) == set(numbered) else parts
    values = np.asarray(tree)
    if values.dtype.kind != "O" or values.ndim == 0:
        return values
    return np.array([item.decode() if isinstance(item, bytes) else str(item) for item in values], dtype=str)


def export_minari(
    store: TrajectoryStore,
    dataset_id: str,
    *,
    env: str | gym.envs.registration.EnvSpec | None = None,
    author: str | None = None,
    author_email: str | None = None,
    code_permalink: str | None = None,
    description: str | None = None,
) -> Path:
    """Write a store as a Minari data set (HDF5, lossless) under MINARI_DATASETS_PATH; returns its directory."""
    minari = _minari()
    target = _free_target(dataset_id)
    arguments = {
        "env": env,
        "algorithm_name": store.card["generator"],
        "author": author,
        "author_email": author_email,
        "code_permalink": code_permalink,
        "description": description or f"{len(store)} episodes of {store.card['environment']}",
        "observation_space": store.spaces.observation,
        "action_space": store.spaces.action,
        "data_format": "hdf5",
        "jpeg_encoding": False,
    }
    _check_names(store)
    try:
        doing = f"cannot write the Minari data set {dataset_id}"
        with warnings.catch_warnings(), _minari_errors(doing), disk_errors(target):
            warnings.simplefilter("ignore", UserWarning)  # about the author and the like
            # A generator, although Minari asks for a list: it only iterates, and the data may exceed memory.
            data = minari.create_dataset_from_buffers(dataset_id, _buffers(store), **arguments)
            # Not given as `env` where we only have its description: Minari would make the environment.
            kept = {} if env is not None else _env_spec(store.card["options"])
            data.storage.update_metadata({OURS: json.dumps(_own_metadata(store), allow_nan=False), **kept})
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def _free_target(dataset_id: str) -> Path:
    try:
        _minari("minari.dataset.minari_dataset").parse_dataset_id(dataset_id)
    except (ValueError, TypeError) as error:
        raise DataError(f"{dataset_id!r} is not a Minari id; use (namespace/)name-v0") from error
    target = Path(_minari("minari.storage.datasets_root_dir").get_dataset_path(dataset_id))
    if target.exists():
        raise DataError(f"Minari data set {dataset_id} exists already at {target}; raise the version or delete it")
    return target


def _own_metadata(store: TrajectoryStore) -> dict[str, Any]:
    keys = ("environment", "options", "generator")
    head = {key: store.card[key] for key in keys}
    return {**head, "dropped_infos": store.card.get("dropped_infos", []), "spaces": spaces_to_json(store.spaces)}


def _check_names(store: TrajectoryStore) -> None:
    for form in (space_form(store.spaces.observation), store.card["infos"]):
        for key in _keys(form):
            if "/" in key or key in ("", "."):
                raise DataError(f"the name {key!r} cannot be written to HDF5; rename it")


def _keys(form: Any) -> list[str]:
    if form is None:
        return []
    if "dict" in form:
        return [name for key, part in form["dict"] for name in (key, *_keys(part))]
    return [name for part in form["tuple"] for name in _keys(part)]


def _buffers(store: TrajectoryStore) -> Iterator[Any]:
    buffer = _minari("minari.data_collector.episode_buffer").EpisodeBuffer
    for index, item in enumerate(store):
        yield buffer(
            id=index,
            seed=None if item.seed < 0 else item.seed,
            observations=tree_map(_writable, item.observations),
            actions=item.actions,
            rewards=item.rewards,
            terminations=item.terminations,
            truncations=item.truncations,
            infos=tree_map(_writable, dict(item.infos)) or None,
        )


def _writable(rows: Any) -> Any:
    """HDF5 takes text as Python strings only."""
    return rows.tolist() if rows.dtype.kind == "U" else rows
