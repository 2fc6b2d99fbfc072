"""Minari data sets, converted into stores. Nothing is ever downloaded, and nothing that a data set says is run.

The files are read here and not by Minari, which makes the environment that they name where they lack spaces, and
follows links. Every step is kept without loss. Infos that do not have a row per observation, of one form in all
episodes, are left out, and the card names them.
"""

from __future__ import annotations

import importlib
import io
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rate.data.checks import as_rewards, common_infos, conform, like, reward_dtype, row_layout
from rate.data.columns import space_columns
from rate.data.flat import as_tuple
from rate.data.hdf5 import open_hdf5, read_tree
from rate.data.place import hidden, made_aside, sweep
from rate.data.space_json import spaces_from_json
from rate.data.store import StoreWriter, TrajectoryStore, is_store
from rate.errors import DataError, MissingExtraError
from rate.registry import did_you_mean
from rate.system.files import read_json, reading, shown
from rate.types import Array, Spaces, Trajectory, Tree

METADATA = "metadata.json"
MAIN = "main_data.hdf5"
OURS = "rate"
"""The key of Minari's metadata under which we keep what Minari has no place for."""


def minari_module(module: str = "minari") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError("minari", "minari") from error


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
    root = Path(minari_module("minari.storage.datasets_root_dir").get_dataset_path())
    with warnings.catch_warnings(), reading(f"the directory {root} of local Minari data sets", DataError):
        warnings.simplefilter("ignore")
        local = list(minari_module().list_local_datasets())
    if source in local:
        return root / source / "data"
    hint = did_you_mean(source, local)
    raise DataError(f"no Minari data set {shown(source)!r} under {root} (nothing is downloaded); {hint}")


def load_minari(source: str, path: Path | str) -> TrajectoryStore:
    """Convert a local Minari data set (an id or a directory) into a store at `path`, or open it if that is done."""
    directory, place = _locate(source), Path(path)
    stamp = _fingerprint(directory)
    sweep(hidden(place, "making"))
    if not is_store(place):
        try:
            with made_aside(place) as made:
                _convert(source, directory, made, stamp)
        except DataError:
            if not is_store(place):  # else another process was faster
                raise
    store = TrajectoryStore.open(place)
    if store.card["options"].get("source") != stamp:
        raise DataError(f"{shown(path)} was made from another version of {source}; delete it to convert again")
    return store


def _fingerprint(directory: Path) -> dict[str, list[int]]:
    """Tells whether a converted copy is still of this data."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): [path.stat().st_size, path.stat().st_mtime_ns] for path in files}


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """What `metadata.json` says."""

    name: str
    episodes: int
    spaces: Spaces
    environment: str
    env_spec: dict[str, str]
    """Gymnasium's description of the environment as JSON text, if there is one; it is kept and never made from."""
    jpeg: bool
    """Whether images are packed as JPEG."""
    ours: dict[str, Any]


def _read_metadata(directory: Path) -> Metadata:
    path = directory / METADATA
    raw = read_json(path, DataError)
    with reading(path, DataError):
        if raw["data_format"] != "hdf5":
            raise DataError(f"{shown(directory)} is stored as {shown(raw['data_format'], 20)!r}; only hdf5 is read")
        known = minari_module().supported_dataset_versions
        if raw["minari_version"] not in known:
            raise DataError(f"{shown(directory)} is of Minari {shown(raw['minari_version'], 20)}, which is not read")
        ours = json.loads(raw.get(OURS, "{}"))
        spec = {"env_spec": str(raw["env_spec"])} if raw.get("env_spec") is not None else {}
        named = json.loads(spec["env_spec"])["id"] if spec else ""
        return Metadata(
            name=str(raw["dataset_id"]),
            episodes=int(raw["total_episodes"]),
            spaces=spaces_from_json(ours["spaces"]) if ours else _spaces(raw),
            environment=str(ours.get("environment") or named),
            env_spec=spec,
            jpeg=bool(raw.get("jpeg_encoding", True)),
            ours=dict(ours),
        )


def _spaces(raw: Mapping[str, Any]) -> Spaces:
    """Without them Minari would make the environment that the data names, which is to run code that it names."""
    read = minari_module("minari.serialization").deserialize_space
    observation, action = (read(raw[f"{kind}_space"]) for kind in ("observation", "action"))
    for leaf in (*space_columns(observation, "").values(), action):
        row_layout(leaf)
    return Spaces(observation=observation, action=action)


def _convert(source: str, directory: Path, made: Path, stamp: dict[str, list[int]]) -> None:
    known = _read_metadata(directory)
    writer = StoreWriter(
        made,
        spaces=known.spaces,
        environment=known.environment,
        options={**dict(known.ours.get("options", {})), "source": stamp, **known.env_spec},
        generator=str(known.ours.get("generator") or f"Minari {known.name}"),
    )
    with reading(f"the Minari data set {source}", DataError), open_hdf5(directory / MAIN) as file:
        data = _Episodes(file, source, known)
        rewards, infos, dropped = _survey(data)
        writer.dropped_infos.update(map(str, known.ours.get("dropped_infos", ())), dropped)
        with writer:
            for index in range(known.episodes):
                writer.add(_trajectory(data, index, rewards, infos))


class _Episodes:
    """The episodes of an open file."""

    def __init__(self, file: Any, source: str, known: Metadata) -> None:
        self.known, self._file, self._source = known, file, source
        held = sum(str(name).startswith("episode_") for name in file)
        if held != known.episodes:
            raise DataError(f"{shown(source)} holds {held} episodes where its {METADATA} names {known.episodes}")

    @contextmanager
    def episode(self, index: int) -> Iterator[Mapping[str, Any]]:
        """The columns of one; what is wrong with it is said in one line."""
        where = f"episode {index} of the Minari data set {self._source}"
        with reading(where, DataError):
            found = read_tree(self._file, f"episode_{index}", where)
            if not isinstance(found, dict) or not isinstance(found.get("infos", {}), dict):
                raise DataError(f"{shown(where)} is not a group of columns")
            yield found

    def seed(self, index: int) -> int:
        return int(self._file[f"episode_{index}"].attrs.get("seed", -1))

    def rows(self, tree: Tree, space: gym.Space[Any]) -> Tree:
        """A column, or a group of them, as values of its space."""
        if isinstance(space, gym.spaces.Dict):
            return {key: self.rows(tree[key], part) for key, part in space.spaces.items()}
        if isinstance(space, gym.spaces.Tuple):
            return tuple(self.rows(tree[f"_index_{index}"], part) for index, part in enumerate(space.spaces))
        values = np.asarray(tree[:])
        if isinstance(space, gym.spaces.Text):
            return _texts(values)
        if self.known.jpeg and values.dtype.kind in "Ou" and _is_image(space):
            return np.stack([_image(item, space) for item in values])
        return values


def _is_image(space: gym.Space[Any]) -> bool:
    return bool(minari_module("minari.dataset.minari_storage").is_image_space(space))


def _image(packed: Array, space: gym.Space[Any]) -> Array:
    """A JPEG of the size of the space; any other is not unpacked."""
    from PIL import Image

    assert space.shape is not None
    with Image.open(io.BytesIO(np.asarray(packed, np.uint8).tobytes()), formats=["JPEG"]) as image:
        if (image.height, image.width) != space.shape[:2]:
            raise ValueError(f"an image of {image.height} x {image.width} where the space is {space.shape}")
        return np.array(image, np.uint8)


def _survey(data: _Episodes) -> tuple[np.dtype[Any], dict[str, Tree], set[str]]:
    """What columns for all episodes need: a dtype for rewards, the infos that fit; and the names of those that do not.

    All episodes are read for it, since the last one may differ from the others.
    """
    dtypes = set[np.dtype[Any]]()

    def infos() -> Iterator[tuple[dict[str, Tree], int]]:
        for index in range(data.known.episodes):
            with data.episode(index) as episode:
                dtypes.add(episode["rewards"].dtype)
                yield _infos(episode), len(episode["rewards"]) + 1

    fitting, others = common_infos(infos())
    return reward_dtype(dtypes), fitting, others


def _trajectory(data: _Episodes, index: int, rewards: np.dtype[Any], infos: Mapping[str, Tree]) -> Trajectory:
    spaces = data.known.spaces
    with data.episode(index) as episode:
        found = _infos(episode)
        return Trajectory(
            observations=conform(data.rows(episode["observations"], spaces.observation), spaces.observation),
            actions=conform(data.rows(episode["actions"], spaces.action), spaces.action),
            rewards=as_rewards(episode["rewards"][:], rewards),
            terminations=episode["terminations"][:].astype(bool),
            truncations=episode["truncations"][:].astype(bool),
            infos={name: like(found[name], kind) for name, kind in infos.items()},
            seed=data.seed(index),
        )


def _infos(episode: Mapping[str, Any]) -> dict[str, Tree]:
    return {name: _info(value) for name, value in episode.get("infos", {}).items()}


def _info(tree: Tree) -> Tree:
    """Undo what HDF5 makes of tuples (groups with numbered names) and of text (objects of bytes)."""
    if isinstance(tree, Mapping):
        return as_tuple({key: _info(part) for key, part in tree.items()})
    values = np.asarray(tree[:])
    return _texts(values) if values.dtype.kind == "O" and values.ndim else values


def _texts(values: Array) -> Array:
    return np.array([item.decode() if isinstance(item, bytes) else str(item) for item in values], dtype=str)
