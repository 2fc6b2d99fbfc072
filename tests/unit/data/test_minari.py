"""Minari data sets are read and written, what is left out is named, and nothing is downloaded."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rate.data import export_minari, load_minari, open_data
from rate.data.minari import data_directory
from rate.data.store import TrajectoryStore
from rate.errors import DataError, MissingExtraError
from rate.types import Spaces, Trajectory

minari = pytest.importorskip("minari")
pytestmark = pytest.mark.usefixtures("no_fsync")
ID = "rate/toy/random-v0"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path / "minari"


@pytest.fixture
def store(write: Callable[..., TrajectoryStore], episode: Any, kinds: Any) -> TrajectoryStore:
    return write([episode(kinds(), 2 + i, i) for i in range(12)], kinds(), shard_steps=20)


@pytest.mark.parametrize("observation", ["vector", "double", "image", "discrete", "multi", "binary", "dict", "tuple"])
@pytest.mark.parametrize("action", ["discrete", "multi", "box"])
def test_there_and_back(
    observation: str, action: str, write: Any, episode: Any, kinds: Any, same: Any, tmp_path: Path
) -> None:
    both = kinds(observation, action)
    episodes = [replace(episode(both, 3, seed), seed=seed - 1) for seed in range(3)]  # the first seed is not known
    given = write(episodes, both)
    export_minari(given, ID)
    back = load_minari(ID, tmp_path / "back")
    for found, expected in zip(back, episodes, strict=True):
        same(found, expected)
    assert back.card["spaces"] == given.card["spaces"]
    assert back.card["environment"] == "toy" and back.card["generator"] == "random"
    assert back.card["options"]["length"] == 3


def test_order_of_many_episodes(store: TrajectoryStore, tmp_path: Path) -> None:
    export_minari(store, ID)
    assert load_minari(ID, tmp_path / "back").lengths.tolist() == store.lengths.tolist()


def test_minari_itself_reads_it(store: TrajectoryStore) -> None:
    export_minari(store, ID, env="CartPole-v1", author="someone")
    data = minari.load_dataset(ID)
    assert data.total_episodes == 12 and data.env_spec.id == "CartPole-v1"
    assert data.observation_space == store.spaces.observation and not data.storage.jpeg_encoding
    np.testing.assert_array_equal(data[3].observations, store[3].observations)
    assert len(data[3].infos["cue"]) == len(store[3]) + 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_foreign_data_set(store: TrajectoryStore, root: Path, tmp_path: Path) -> None:
    """Without our metadata the environment comes from the spec, and infos of another length are left out, by name."""
    buffer = minari.data_collector.EpisodeBuffer
    item = store[0]
    wide = item.observations.astype(np.float64)  # Minari checks no dtype
    minari.create_dataset_from_buffers(
        ID,
        [
            buffer(
                observations=wide,
                actions=item.actions.tolist(),
                rewards=item.rewards,
                terminations=item.terminations,
                truncations=item.truncations,
                infos={"odd": np.zeros(1), "even": np.ones(3)},
            )
        ],
        env="CartPole-v1",
        observation_space=store.spaces.observation,
        action_space=store.spaces.action,
    )
    back = load_minari(ID, tmp_path / "back")
    assert back.card["environment"] == "CartPole-v1" and ID in back.card["generator"]
    assert back.seeds.tolist() == [-1] and list(back[0].infos) == ["even"]
    assert back.card["dropped_infos"] == ["odd"]
    np.testing.assert_array_equal(back[0].observations, item.observations)
    export_minari(back, "copy-v0")
    assert minari.load_dataset("copy-v0").env_spec == minari.load_dataset(ID).env_spec
    assert load_minari("copy-v0", tmp_path / "copy").card["dropped_infos"] == ["odd"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_data_set_is_no_environment(store: TrajectoryStore, root: Path, tmp_path: Path) -> None:
    """Where Minari knows no environment, the id of the data is not taken for one."""
    item = store[0]
    columns = {name: getattr(item, name) for name in ("observations", "actions", "rewards")}
    ends = {"terminations": item.terminations, "truncations": item.truncations}
    spaces = {"observation_space": store.spaces.observation, "action_space": store.spaces.action}
    buffer = minari.data_collector.EpisodeBuffer(**columns, **ends)
    minari.create_dataset_from_buffers(ID, [buffer], **spaces)
    card = load_minari(ID, tmp_path / "back").card
    assert card["environment"] == "" and ID in card["generator"]


def foreign(episodes: list[Trajectory], spaces: Spaces) -> None:
    """A data set as others write it."""
    names = ("observations", "actions", "rewards", "terminations", "truncations")
    buffers = [
        minari.data_collector.EpisodeBuffer(
            **{name: getattr(item, name) for name in names}, infos=dict(item.infos) or None
        )
        for item in episodes
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the author and the like
        minari.create_dataset_from_buffers(
            ID, buffers, observation_space=spaces.observation, action_space=spaces.action
        )


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (["i8", "f8"], "f8"),
        (["f8", "i8"], "f8"),
        (["f4", "i8"], "f8"),
        (["f4", "f8", "f4"], "f8"),
        (["u1", "?"], "f8"),
        (["f4", "f4"], "f4"),
    ],
)
def test_rewards_of_several_types(dtypes: list[str], expected: str, episode: Any, kinds: Any, tmp_path: Path) -> None:
    """Many environments answer with a whole number where nothing was earned, and with a real one elsewhere."""
    values = [0, 1 / 3, 0.5, 1]
    rewards = [np.array(values).astype(dtype) for dtype in dtypes]
    foreign([replace(episode(kinds(), 4, 0, False), rewards=one) for one in rewards], kinds())
    back = load_minari(ID, tmp_path / "back")
    for found, given in zip(back, rewards, strict=True):
        assert found.rewards.dtype == expected and np.array_equal(found.rewards, given)
    TrajectoryStore.open(back.path)  # with all checks


INFOS: dict[str, tuple[Any, Any]] = {
    "missing": (np.zeros(4), None),
    "late": (None, np.zeros(4)),
    "short": (np.zeros(4), np.zeros(3)),
    "shape": (np.zeros((4, 2)), np.zeros((4, 3))),
    "nested": ({"a": np.zeros(4)}, {"b": np.zeros(4)}),
    "leaf": ({"a": np.zeros(4)}, np.zeros(4)),
    "text or number": (np.zeros(4), ["a"] * 4),
}
FITTING: dict[str, tuple[Any, Any, str]] = {
    "same": (np.arange(4.0), np.arange(4.0), "f8"),
    "wider": (np.arange(4), np.arange(4) / 2, "f8"),
    "text": (["a"] * 4, ["b" * 200] * 4, "U200"),
    "shorter text": (["a" * 200] * 4, ["b"] * 4, "U200"),
}


@pytest.mark.parametrize("first", [False, True])
def test_infos_that_do_not_fit_in_every_episode(first: bool, episode: Any, kinds: Any, tmp_path: Path) -> None:
    """They are left out by name, whichever episode is the odd one; the others stay."""
    both = {**INFOS, **{name: pair[:2] for name, pair in FITTING.items()}}
    plain = {name: pair[0] for name, pair in both.items() if pair[0] is not None}
    odd = {name: pair[1] for name, pair in both.items() if pair[1] is not None}
    listed = [odd, plain, plain] if first else [plain, plain, odd]
    foreign([replace(episode(kinds(), 3, 0, False), infos=infos) for infos in listed], kinds())
    back = load_minari(ID, tmp_path / "back")
    assert back.card["dropped_infos"] == sorted(INFOS) and set(back[0].infos) == set(FITTING)
    for found, given in zip(back, listed, strict=True):
        for name, (*_, dtype) in FITTING.items():
            assert found.infos[name].tolist() == list(given[name]) and found.infos[name].dtype == dtype
    TrajectoryStore.open(back.path)


def test_an_episode_without_infos(episode: Any, kinds: Any, tmp_path: Path) -> None:
    plain = episode(kinds(), 3, 0, False)
    foreign([replace(plain, infos={"cue": np.zeros(4), "deep": {"place": np.zeros(4)}}), plain], kinds())
    back = load_minari(ID, tmp_path / "back")
    assert back.card["dropped_infos"] == ["cue", "deep"] and not back[0].infos


def test_unknown_id(store: TrajectoryStore, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is none"):
        load_minari(ID, tmp_path / "back")
    export_minari(store, ID)
    with pytest.raises(DataError, match=f"did you mean '{ID}'"):
        load_minari("rate/toy/randm-v0", tmp_path / "back")
    with pytest.raises(DataError, match=f"known: {ID}"):
        load_minari("zzzzzzz", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_existing_or_malformed_id(store: TrajectoryStore) -> None:
    target = export_minari(store, ID)
    with pytest.raises(DataError, match="exists already"):
        export_minari(store, ID)
    assert target.is_dir()
    for bad in ("no-version", "../up-v0", ""):
        with pytest.raises(DataError, match="not a Minari id"):
            export_minari(store, bad)


def test_failed_export_leaves_nothing(store: TrajectoryStore, root: Path, monkeypatch: Any) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rate.data.minari_export.write_all", refuse)
    with pytest.raises(DataError, match="the disk is full"):
        export_minari(store, ID)
    assert not list((root / ID).parent.iterdir())


def test_damaged_file(store: TrajectoryStore, root: Path, tmp_path: Path) -> None:
    export_minari(store, ID)
    (root / ID / "data" / "main_data.hdf5").write_bytes(b"not hdf5")
    with pytest.raises(DataError, match=r"main_data.hdf5 cannot be read") as caught:
        load_minari(ID, tmp_path / "back")
    assert "\n" not in str(caught.value) and not (tmp_path / "back").exists()


def test_slash_in_a_name(write: Any, episode: Any, kinds: Any, root: Path) -> None:
    item = replace(episode(kinds(), 3), infos={"a/b": np.zeros(4)})
    with pytest.raises(DataError, match="'a/b' cannot be written"):
        export_minari(write([item], kinds()), ID)
    assert not (root / ID).exists()


def test_open_data(store: TrajectoryStore, root: Path, tmp_path: Path) -> None:
    export_minari(store, ID)
    cache = tmp_path / "cache"
    assert len(open_data(store.path, cache)) == 12 and not cache.exists()
    assert len(open_data(f"minari:{ID}", cache)) == 12
    assert len(open_data(root / ID, cache)) == 12 and len(open_data(root / ID / "data", cache)) == 12
    assert len(list(cache.iterdir())) == 3
    for nothing, words in [(tmp_path, "not a data set"), ("minari:", "needs the id"), ("nowhere", "no such directory")]:
        with pytest.raises(DataError, match=words):
            open_data(nothing, cache)


def test_conversion_is_cached_until_the_source_changes(store: TrajectoryStore, root: Path, tmp_path: Path) -> None:
    export_minari(store, ID)
    first = load_minari(ID, tmp_path / "back")
    stamp = (first.path / "card.json").stat().st_mtime_ns
    assert (load_minari(ID, tmp_path / "back").path / "card.json").stat().st_mtime_ns == stamp
    shutil.rmtree(root / ID)
    export_minari(store, ID, description="again")
    with pytest.raises(DataError, match=r"another version .* delete it"):
        load_minari(ID, tmp_path / "back")


def test_without_minari(store: TrajectoryStore, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(MissingExtraError, match=r"rate-rl\[minari\]"):
        export_minari(store, ID)


def test_importing_the_library_does_not_import_minari() -> None:
    import subprocess

    code = "import rate.data, sys, json; print(json.dumps('minari' in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) is False


def test_data_directory(tmp_path: Path) -> None:
    assert data_directory(tmp_path) is None
