"""The store gives back exactly what it was given, and says in one line what is wrong with it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from rate.data.open import open_data
from rate.data.store import StoreWriter, TrajectoryStore
from rate.errors import DataError
from rate.types import Spaces, Trajectory

Write = Callable[..., TrajectoryStore]
pytestmark = pytest.mark.usefixtures("no_fsync")
HEAD: dict[str, Any] = {"environment": "toy", "options": {}, "generator": "random"}


# ------------------------------------------------------------------------------------------------ round trips


@pytest.mark.parametrize("observation", ["vector", "double", "image", "discrete", "multi", "binary", "dict", "tuple"])
@pytest.mark.parametrize("action", ["discrete", "multi", "box"])
def test_round_trip(observation: str, action: str, write: Write, episode: Any, kinds: Any, same: Any) -> None:
    both = kinds(observation, action)
    episodes = [episode(both, length, seed) for seed, length in enumerate((3, 1, 5))]
    store = write(episodes, both)
    assert store.spaces == both
    for found, given in zip(store, episodes, strict=True):
        same(found, given)


def test_several_shards(vector_store: TrajectoryStore, episode: Any, kinds: Any, same: Any) -> None:
    assert len(vector_store.shards) == 3
    assert vector_store.lengths.tolist() == [3, 4, 5, 6, 7] and vector_store.lengths.dtype == np.int64
    assert vector_store.seeds.tolist() == [0, 1, 2, 3, 4]
    for index in (*range(5), -1):
        same(vector_store[index], episode(kinds(), 3 + index % 5, index % 5))
    with pytest.raises(IndexError):
        vector_store[5]


def test_shards_are_cut_by_bytes_too(write: Write, episode: Any, kinds: Any) -> None:
    store = write([episode(kinds("image"), 4, i) for i in range(4)], kinds("image"), shard_bytes=10_000)
    assert len(store.shards) == 4


def test_text_observations(write: Write, kinds: Any) -> None:
    both = Spaces(observation=spaces.Text(12, charset="abc "), action=spaces.Discrete(4))
    flags = np.zeros(2, bool)
    item = Trajectory(
        observations=np.array(["a", "abc", "b c"]),
        actions=np.zeros(2, np.int64),
        rewards=np.ones(2, np.float32),
        terminations=flags,
        truncations=flags,
    )
    assert write([item], both)[0].observations.tolist() == ["a", "abc", "b c"]


def test_returns_and_card(vector_store: TrajectoryStore) -> None:
    expected = [float(np.sum(item.rewards, dtype=np.float64)) for item in vector_store]
    np.testing.assert_allclose(vector_store.returns, expected, rtol=1e-12)
    assert vector_store.returns.dtype == np.float64
    card = json.loads((vector_store.path / "card.json").read_text())
    assert card["episodes"] == 5 and card["steps"] == 25 and card["environment"] == "toy"
    assert "name" not in card and card["dropped_infos"] == []
    assert card["lengths"] == {"min": 3, "mean": 5, "max": 7, "std": np.sqrt(2)}
    assert card["returns"]["max"] == pytest.approx(max(expected))
    assert card["seeds"] == {"known": 5, "min": 0, "max": 4} and card["options"] == {"length": 3}


def test_arrays_are_read_only_views(vector_store: TrajectoryStore) -> None:
    with pytest.raises(ValueError):
        vector_store[0].observations[0] = 1
    assert not vector_store[0].rewards.flags.owndata


# ------------------------------------------------------------------------------------- what the writer refuses


def spoilt(item: Trajectory) -> dict[str, tuple[Trajectory, str]]:
    nan = item.observations.copy()
    nan[1, 2] = np.nan
    steps = len(item)
    return {
        "nan observation": (replace(item, observations=nan), "observations holds a value that is not finite"),
        "nan reward": (replace(item, rewards=np.full(steps, np.nan, np.float32)), "rewards holds a value"),
        "T observations": (replace(item, observations=item.observations[:-1]), "observations has shape (3, 4)"),
        "wide": (replace(item, observations=np.zeros((steps + 1, 5), np.float32)), "observations has shape (4, 5)"),
        "float64": (replace(item, observations=item.observations.astype(np.float64)), "dtype float64"),
        "int32 action": (replace(item, actions=item.actions.astype(np.int32)), "actions has dtype int32"),
        "no such action": (replace(item, actions=item.actions + 4), "outside of Discrete(4)"),
        "int flags": (replace(item, truncations=np.zeros(steps)), "truncations has dtype float64"),
        "short flags": (replace(item, terminations=np.zeros(1, bool)), "terminations has shape (1,)"),
        "list": (replace(item, actions=item.actions.tolist()), "actions is a list"),
        "tree": (replace(item, observations={"a": item.observations}), "observations is a dict"),
        "reward dtype": (replace(item, rewards=item.rewards.astype(np.float64)), "rewards has dtype float64"),
        "infos": (replace(item, infos={}), "infos have other names"),
        "info length": (replace(item, infos={**item.infos, "cue": np.zeros(steps)}), "infos.cue has shape (3,)"),
        "info object": (replace(item, infos={**item.infos, "cue": np.array([None] * 4)}), "infos.cue is not an array"),
        "empty": (replace(item, rewards=np.zeros(0, np.float32)), "has no step"),
    }


CASES = [
    "nan observation", "nan reward", "T observations", "wide", "float64", "int32 action", "no such action", "int flags",
    "short flags", "list", "tree", "reward dtype", "infos", "info length", "info object", "empty",
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_episode(one_line: Any, case: str, tmp_path: Path, write: Write, episode: Any, kinds: Any) -> None:
    good = episode(kinds(), 3)
    bad, words = spoilt(good)[case]
    one_line(lambda: write([good, bad], kinds()), "episode 1 cannot be stored", words)
    assert not (tmp_path / "set").exists()


def test_dict_observation_without_a_key(one_line: Any, write: Write, episode: Any, kinds: Any) -> None:
    item = episode(kinds("dict"), 3)
    bad = replace(item, observations={"zeta": item.observations["zeta"]})
    one_line(lambda: write([bad], kinds("dict")), "tree of the form of the observation space")


def test_no_episode(one_line: Any, tmp_path: Path, write: Write, kinds: Any) -> None:
    one_line(lambda: write([], kinds()), "no episode was given")
    assert not (tmp_path / "set").exists()


def test_exception_leaves_nothing(tmp_path: Path, episode: Any, kinds: Any) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "notes.txt").write_text("mine")
    with (
        pytest.raises(KeyboardInterrupt),
        StoreWriter(tmp_path / "set", spaces=kinds(), shard_steps=3, **HEAD) as writer,
    ):
        for seed in range(3):
            writer.add(episode(kinds(), 3, seed))
        assert (tmp_path / "set" / "shard-00000").is_dir()
        raise KeyboardInterrupt
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["notes.txt"]


def test_existing_data_set_is_kept(
    one_line: Any, vector_store: TrajectoryStore, write: Write, episode: Any, kinds: Any
) -> None:
    one_line(lambda: write([episode(kinds(), 3)], kinds()), "already holds a data set")
    assert len(TrajectoryStore.open(vector_store.path)) == 5


def test_second_writer_does_no_harm(one_line: Any, tmp_path: Path, write: Write, episode: Any, kinds: Any) -> None:
    with StoreWriter(tmp_path / "set", spaces=kinds(), **HEAD) as writer:
        writer.add(episode(kinds(), 3))
        one_line(lambda: write([episode(kinds(), 3)], kinds()), "unfinished data set")
    assert len(TrajectoryStore.open(tmp_path / "set")) == 1


def test_options_must_be_json(one_line: Any, tmp_path: Path, kinds: Any) -> None:
    head = {**HEAD, "options": {"length": np.int64(3)}}
    one_line(lambda: StoreWriter(tmp_path / "set", spaces=kinds(), **head), "must be JSON values")


def test_tree_of_actions_is_refused(one_line: Any, tmp_path: Path, kinds: Any) -> None:
    both = Spaces(observation=kinds().observation, action=spaces.Tuple([spaces.Discrete(2)]))
    one_line(lambda: StoreWriter(tmp_path / "set", spaces=both, **HEAD), "action space Tuple cannot be stored")


# ------------------------------------------------------------------------------------------ the disk says no


def test_file_in_place_of_the_directory(one_line: Any, tmp_path: Path, write: Write, episode: Any, kinds: Any) -> None:
    (tmp_path / "set").write_text("a file")
    one_line(lambda: write([episode(kinds(), 3)], kinds()), "cannot write", "choose another directory")
    assert (tmp_path / "set").read_text() == "a file"


@pytest.mark.parametrize(
    ("code", "words"), [(errno.ENOSPC, "the disk is full; free some space"), (errno.EACCES, "permission denied")]
)
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_disk_errors(
    one_line: Any,
    code: int,
    words: str,
    function: str,
    tmp_path: Path,
    write: Write,
    episode: Any,
    kinds: Any,
    monkeypatch: Any,
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    keep = write([episode(kinds(), 3)], kinds(), name="keep")
    monkeypatch.setattr(os, function, refuse)
    one_line(lambda: write([episode(kinds(), 3)], kinds()), "cannot write", words)
    monkeypatch.undo()
    assert not (tmp_path / "set").exists()
    assert len(TrajectoryStore.open(keep.path)) == 1


def test_disk_full_while_adding(
    one_line: Any, tmp_path: Path, write: Write, episode: Any, kinds: Any, monkeypatch: Any
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rate.data.columns.ColumnFile.append", refuse)
    one_line(lambda: write([episode(kinds(), 3)], kinds()), "the disk is full")
    assert not (tmp_path / "set").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_directory(one_line: Any, tmp_path: Path, write: Write, episode: Any, kinds: Any) -> None:
    tmp_path.chmod(0o500)
    try:
        one_line(lambda: write([episode(kinds(), 3)], kinds()), "permission denied")
    finally:
        tmp_path.chmod(0o700)


def test_calls_with_bad_arguments(kinds: Any, episode: Any, tmp_path: Path) -> None:
    head: dict[str, Any] = {"environment": "toy", "options": {}, "generator": "me"}
    for changes, said in (
        ({"spaces": None}, "rate.types.Spaces"),
        ({"shard_steps": 0}, "a shard must hold something"),
        ({"environment": 7}, "environment of a data set must be a text"),
        ({"options": {"a": {1, 2}}}, "JSON values"),
    ):
        with pytest.raises(DataError, match=said):
            StoreWriter(tmp_path / "set", **{"spaces": kinds(), **head, **changes})
    with pytest.raises(DataError, match="context manager"):
        StoreWriter(tmp_path / "set", spaces=kinds(), **head).add(episode(kinds(), 3))
    with (
        pytest.raises(DataError, match="Trajectory is expected"),
        StoreWriter(tmp_path / "set", spaces=kinds(), **head) as writer,
    ):
        writer.add({"observations": []})  # type: ignore[arg-type]
    for source in ("", None, 7, "a\0b"):
        with pytest.raises(DataError, match="no data set"):
            open_data(source, tmp_path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
