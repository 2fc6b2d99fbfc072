"""Observations and infos that are trees, from HDF5 groups and from names with parts in NPZ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.data.importers import import_data
from rate.data.store import TrajectoryStore
from rate.errors import DataError
from rate.types import Spaces

STEPS = 10
TIME = np.arange(STEPS)
ENDS = {"actions": TIME % 3, "rewards": np.ones(STEPS, np.float32), "terminals": TIME % 5 == 4}
EYE = np.arange(STEPS * 12, dtype=np.uint8).reshape(STEPS, 2, 2, 3)
PARTS = {"eye": EYE, "body/arm": TIME[:, None] / 4, "body/leg": TIME * 2}


def hdf5(path: Path, columns: dict[str, Any]) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        for name, values in columns.items():
            file[name] = values
    return path.with_suffix(".h5")


def npz(path: Path, columns: dict[str, Any]) -> Path:
    np.savez(path.with_suffix(".npz"), **columns)
    return path.with_suffix(".npz")


def dotted(path: Path, columns: dict[str, Any]) -> Path:
    return npz(path, {name.replace("/", "."): values for name, values in columns.items()})


each_format = pytest.mark.parametrize("write", [hdf5, npz, dotted])


def tree(root: str, parts: dict[str, Any]) -> dict[str, Any]:
    return {f"{root}/{name}": values for name, values in parts.items()}


@each_format
def test_dicts_in_dicts(write: Any, tmp_path: Path) -> None:
    more = tree("infos", {"goal": TIME / 2, "deep/place": TIME[:, None]})
    import_data(write(tmp_path / "log", {**ENDS, **tree("observations", PARTS), **more}), tmp_path / "out")
    store = TrajectoryStore.open(tmp_path / "out")
    space = store.spaces.observation
    assert isinstance(space, gym.spaces.Dict) and space["eye"] == gym.spaces.Box(0, 255, (2, 2, 3), np.uint8)
    assert space["body"]["leg"] == gym.spaces.Discrete(19)
    first, second = store
    assert np.array_equal(second.observations["eye"], np.concatenate([EYE[5:], EYE[-1:]]))
    assert second.observations["body"]["leg"].tolist() == [10, 12, 14, 16, 18, 18]
    assert first.infos["goal"].tolist() == [0, 0.5, 1, 1.5, 2, 2] and first.infos["deep"]["place"].shape == (6, 1)
    assert store.card["dropped_infos"] == []


@each_format
def test_next_observations_are_trees_too(write: Any, tmp_path: Path) -> None:
    after = {name: values + 1 for name, values in PARTS.items()}
    columns = {**ENDS, **tree("observations", PARTS), **tree("next_observations", after)}
    store = import_data(write(tmp_path / "log", columns), tmp_path / "out")
    assert store[0].observations["body"]["arm"][-1] == 2.0 and store[0].observations["body"]["leg"][-1] == 9


@each_format
@pytest.mark.parametrize("pattern", ["{}", "_index_{}"])
def test_numbered_parts_are_a_tuple(write: Any, pattern: str, tmp_path: Path) -> None:
    parts = {pattern.format(0): TIME, pattern.format(1): TIME[:, None] / 2}
    store = import_data(write(tmp_path / "log", {**ENDS, **tree("observations", parts)}), tmp_path / "out")
    assert isinstance(store.spaces.observation, gym.spaces.Tuple)
    assert store[1].observations[0].tolist() == [5, 6, 7, 8, 9, 9]


@each_format
def test_the_spaces_of_an_environment(write: Any, tmp_path: Path) -> None:
    """They may name fewer parts, in another order."""
    box = gym.spaces.Box(-9, 9, (1,), np.float32)
    given = Spaces(observation=gym.spaces.Dict({"body": gym.spaces.Dict({"arm": box})}), action=gym.spaces.Discrete(3))
    source = write(tmp_path / "log", {**ENDS, **tree("observations", PARTS)})
    store = import_data(source, tmp_path / "out", spaces=given)
    assert store.spaces == given and store[0].observations["body"]["arm"].dtype == np.float32
    other = Spaces(observation=gym.spaces.Dict({"ear": box}), action=gym.spaces.Discrete(3))
    with pytest.raises(DataError, match="episode 0 does not have the form of its spaces: 'ear'"):
        import_data(source, tmp_path / "no", spaces=other)


def test_offsets_with_a_row_per_observation(tmp_path: Path) -> None:
    columns = {**ENDS, "offsets": np.array([0, 4, 10]), **tree("observations", {"a": np.arange(12), "b": np.zeros(12)})}
    del columns["terminals"]
    store = import_data(npz(tmp_path / "log", columns), tmp_path / "out")
    assert [item.observations["a"].tolist() for item in store] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10, 11]]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "fewer rows": ({"observations/eye": EYE[:7]}, "7 rows of 'observations/eye' where 10"),
    "an array and a dict": ({"observations": TIME}, "both an array and a group"),
    "a dict of actions": ({"actions/left": TIME}, "a dict as 'actions'"),
    "a single value": ({"observations/eye": np.float32(1)}, "single value as 'observations'"),
}


@pytest.mark.parametrize("case", BAD)
def test_trees_that_do_not_fit(case: str, tmp_path: Path) -> None:
    changes, said = BAD[case]
    source = npz(tmp_path / "log", {**ENDS, **tree("observations", PARTS), **changes})
    with pytest.raises(DataError, match=said):
        import_data(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_pickled_infos_may_be_a_dict(tmp_path: Path) -> None:
    import pickle

    item = {"observations": {"eye": EYE}, "actions": TIME % 3, "rewards": TIME / 1, "infos": {"goal": TIME, "odd": 7}}
    (tmp_path / "log.pkl").write_bytes(pickle.dumps([item, item]))
    store = import_data(tmp_path / "log.pkl", tmp_path / "out", allow_pickle=True)
    assert list(store[0].infos) == ["goal"] and store.card["dropped_infos"] == ["infos/odd"]
