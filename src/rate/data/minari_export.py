"""A store as a Minari data set: HDF5, without loss, in the local directory of Minari."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import gymnasium as gym

from rate.data.columns import disk_errors, space_form
from rate.data.hdf5 import h5py_module
from rate.data.minari import MAIN, OURS, minari_module
from rate.data.place import hidden, made_aside, sweep
from rate.data.space_json import spaces_to_json
from rate.data.store import TrajectoryStore
from rate.errors import DataError
from rate.system.files import shown, write_all
from rate.types import Trajectory, Tree


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
    target = _target(dataset_id)
    _check_names(store)
    spec = gym.spec(env) if isinstance(env, str) else env
    given = {"author": author and {author}, "author_email": author_email and {author_email}}
    facts = {
        "dataset_id": dataset_id,
        "minari_version": minari_module().__version__,
        "algorithm_name": store.card["generator"],
        "description": description or f"{len(store)} episodes of {store.card['environment']}",
        "code_permalink": code_permalink,
        **given,
        OURS: json.dumps(_own_metadata(store), allow_nan=False),
        # Not given as `env` where we only have its description: the environment would be made.
        **({} if spec else _kept_spec(store)),
    }
    with made_aside(target) as made, disk_errors(target):
        _write(store, made / "data", spec, {name: value for name, value in facts.items() if value is not None})
        _make_namespace(dataset_id)
    return target


def _target(dataset_id: str) -> Path:
    try:
        minari_module("minari.dataset.minari_dataset").parse_dataset_id(dataset_id)
    except (ValueError, TypeError) as error:
        raise DataError(f"{shown(dataset_id)!r} is not a Minari id; use (namespace/)name-v0") from error
    target = Path(minari_module("minari.storage.datasets_root_dir").get_dataset_path(dataset_id))
    sweep(hidden(target, "making"))
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise DataError(f"Minari data set {dataset_id} exists already at {target}; raise the version or delete it")
    return target


def _write(store: TrajectoryStore, directory: Path, env: Any, facts: Mapping[str, Any]) -> None:
    directory.mkdir(parents=True)
    spaces = {"observation_space": store.spaces.observation, "action_space": store.spaces.action}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a description that cannot be written
        new = minari_module("minari.dataset.minari_storage").MinariStorage.new
        storage = new(directory, **spaces, env_spec=env, data_format="hdf5", jpeg_encoding=False)
    _write_episodes(store, directory / MAIN)
    steps = int(store.lengths.sum())
    sizes = {"total_episodes": len(store), "total_steps": steps, "dataset_size": storage.get_size()}
    storage.update_metadata({**facts, **sizes})


def _write_episodes(store: TrajectoryStore, path: Path) -> None:
    """In Minari's layout: a group per episode."""
    h5py = h5py_module()
    with path.open("w+b", buffering=0) as disk:
        file = _Quiet(disk)
        with h5py.File(file, "w", track_order=True) as root:
            for index, episode in enumerate(store):
                group = root.create_group(f"episode_{index}")
                group.attrs["id"] = index
                if episode.seed >= 0:
                    group.attrs["seed"] = episode.seed
                group.attrs["total_steps"] = len(episode)
                for name, tree in _columns(episode).items():
                    _put(group, name, tree, h5py.string_dtype(encoding="utf-8"))
                file.check()
        file.check()


def _columns(episode: Trajectory) -> dict[str, Tree]:
    names = ("observations", "actions", "rewards", "terminations", "truncations")
    infos = {"infos": dict(episode.infos)} if episode.infos else {}
    return {**{name: getattr(episode, name) for name in names}, **infos}


def _put(group: Any, name: str, tree: Tree, text: Any) -> None:
    """A column, or a group of them; HDF5 has no tuples, so their parts are numbered."""
    if isinstance(tree, tuple):
        tree = {f"_index_{index}": part for index, part in enumerate(tree)}
    if isinstance(tree, Mapping):
        inner = group.create_group(name)
        for key, part in tree.items():
            _put(inner, key, part, text)
        return
    rows, kind = (tree.tolist(), text) if tree.dtype.kind == "U" else (tree, None)
    group.create_dataset(name, data=rows, dtype=kind, chunks=True, maxshape=(None, *tree.shape[1:]))


class _Quiet:
    """A file for the HDF5 library, which crashes the process when a write fails: failures are kept until `check`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._failed: OSError | None = None

    def check(self) -> None:
        if self._failed is not None:
            raise self._failed

    def write(self, content: Any) -> int:
        if self._failed is None:
            try:
                write_all(self._file, content)
            except OSError as reason:
                self._failed = reason
        return len(content)

    def truncate(self, size: int) -> int:
        if self._failed is None:
            try:
                self._file.truncate(size)
            except OSError as reason:
                self._failed = reason
        return size

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        """There is no buffer."""


def _make_namespace(dataset_id: str) -> None:
    """Minari lists the directories above a data set by a file in each of them."""
    namespace = minari_module("minari.dataset.minari_dataset").parse_dataset_id(dataset_id)[0]
    known = minari_module("minari.namespace")
    if namespace is not None and namespace not in known.list_local_namespaces():
        known.create_namespace(namespace)


def _own_metadata(store: TrajectoryStore) -> dict[str, Any]:
    keys = ("environment", "options", "generator")
    head = {key: store.card[key] for key in keys}
    return {**head, "dropped_infos": store.card.get("dropped_infos", []), "spaces": spaces_to_json(store.spaces)}


def _kept_spec(store: TrajectoryStore) -> dict[str, str]:
    spec = store.card["options"].get("env_spec")
    return {} if spec is None else {"env_spec": spec}


def _check_names(store: TrajectoryStore) -> None:
    for form in (space_form(store.spaces.observation), store.card["infos"]):
        for key in _keys(form):
            if "/" in key or key in ("", "."):
                raise DataError(f"the name {shown(key)!r} cannot be written to HDF5; rename it")


def _keys(form: Any) -> list[str]:
    if form is None:
        return []
    if "dict" in form:
        return [name for key, part in form["dict"] for name in (key, *_keys(part))]
    return [name for part in form["tuple"] for name in _keys(part)]
