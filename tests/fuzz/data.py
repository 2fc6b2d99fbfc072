"""Data sets and foreign data files, for `test_fuzz.py`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import hostile_data as hostile
from fuzz.artefacts import ARTEFACTS, Artefact
from integration import echo
from rate.data import open_data
from rate.data.importers import import_data
from rate.data.space_json import space_from_json, space_to_json
from rate.experiment.check import check_data
from rate.system.files import read_json

SHARD = "shard-00000"


def _store(place: Path) -> None:
    echo.write_store(place, echo.episodes(3))


def _look(place: Path) -> None:
    """What `rate data check`, `rate train` and others do first."""
    shutil.rmtree(place.parent / "cache", ignore_errors=True)
    check_data(open_data(place, place.parent / "cache"))


def _agree(name: str) -> Any:
    """A card that agrees with a column, so that damage is not found by the checksum."""
    return lambda place: hostile.put_column(place, name, (place / SHARD / f"{name}.npy").read_bytes())


def _tree() -> dict[str, Any]:
    columns = hostile.columns()
    seen = columns.pop("observations")
    return {**columns, "observations/a": seen, "observations/b/c": np.arange(hostile.STEPS), "infos/goal": seen}


def _npz(place: Path) -> None:
    place.mkdir()
    np.savez(place / "log.npz", **_tree())


def _hdf5(place: Path) -> None:
    """As old and as new releases of HDF5 write it, packed and not."""
    place.mkdir()
    for name, libver in (("old", "earliest"), ("new", "latest")):
        with h5py.File(place / f"{name}.hdf5", "w", libver=libver) as file:
            for key, values in _tree().items():
                file.create_dataset(key, data=values, compression="gzip" if key == "rewards" else None)


def _import(name: str) -> Any:
    def read(place: Path) -> None:
        shutil.rmtree(place.parent / "imported", ignore_errors=True)
        import_data(place / name, place.parent / "imported")

    return read


def _space(place: Path) -> None:
    place.mkdir()
    (place / "space.json").write_text(json.dumps(space_to_json(echo.SPACES.observation)))
    kinds = [{"type": "Box", "dtype": "float32", "shape": [2, 2], "low": [0, 0, 0, 0], "high": 1}]
    kinds += [{"type": "MultiDiscrete", "nvec": [2, 3], "start": [0, 0], "dtype": "int64"}]
    kinds += [{"type": "Text", "max_length": 4, "min_length": 0, "charset": "ab"}, {"type": "MultiBinary", "n": 3}]
    (place / "spaces.json").write_text(json.dumps({"type": "Tuple", "spaces": kinds}))


def _read_space(place: Path) -> None:
    for name in ("space", "spaces"):
        space_to_json(space_from_json(read_json(place / f"{name}.json")))


def _minari(place: Path) -> None:
    """As Minari itself writes it, and what it keeps as text within text in files of its own."""
    from minari import MinariDataset
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    place.mkdir(parents=True)
    spaces = {"observation_space": echo.SPACES.observation, "action_space": echo.SPACES.action}
    storage = MinariStorage.new(place, **spaces)
    storage.update_metadata({"dataset_id": "me/log-v0", "minari_version": __import__("minari").__version__})
    storage.update_episodes([EpisodeBuffer(seed=seed, **item) for seed, item in enumerate(echo.episodes(3))])
    MinariDataset(storage)
    raw = json.loads((place / "metadata.json").read_text())
    (place / "inner.json").write_text(raw["observation_space"])


def _look_inside(place: Path) -> None:
    """With the space that stands in a file of its own."""
    raw = json.loads((place / "metadata.json").read_text())
    raw["observation_space"] = (place / "inner.json").read_bytes().decode("latin1")
    (place / "metadata.json").write_text(json.dumps(raw))
    _look(place)


def _add(name: str, make: Any, file: str, read: Any, count: int, seal: Any = None) -> None:
    ARTEFACTS.append(
        Artefact(name=name, make=make, file=lambda place: place / file, read=(read,), count=count, seal=seal)
    )


_add("the card of a data set", _store, "card.json", _look, 300)
for _name in ("observations", "actions", "rewards", "offsets"):
    _add(f"the column {_name}", _store, f"{SHARD}/{_name}.npy", _look, 60, _agree(_name))
_add("a space", _space, "space.json", _read_space, 100)
_add("spaces of many kinds", _space, "spaces.json", _read_space, 200)
_add("an NPZ", _npz, "log.npz", _import("log.npz"), 150)
_add("an HDF5 file of old form", _hdf5, "old.hdf5", _import("old.hdf5"), 100)
_add("an HDF5 file of new form", _hdf5, "new.hdf5", _import("new.hdf5"), 60)
_add("Minari's metadata", _minari, "metadata.json", _look, 100)
_add("Minari's spaces", _minari, "inner.json", _look_inside, 80)
_add("Minari's episodes", _minari, "main_data.hdf5", _look, 80)
