"""Imported files: every step where it was, episodes cut where they end, and spaces that the values tell."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.data.importers import import_data
from rate.data.store import TrajectoryStore
from rate.errors import DataError, RateError
from rate.types import Spaces

STEPS = 10
Write = Callable[[Path, dict[str, Any]], Path]


def flat(**changes: Any) -> dict[str, Any]:
    """Ten steps: an episode of four that terminates, one of three that times out, and three more without an end."""
    time = np.arange(STEPS)
    columns = {
        "observations": np.stack([time, 100 + time], 1).astype(np.float32),
        "next_observations": np.stack([time + 0.5, 100.5 + time], 1).astype(np.float32),
        "actions": np.stack([time / 10, -time / 5], 1).astype(np.float32),
        "rewards": time.astype(np.float32),
        "terminals": time == 3,
        "timeouts": time == 6,
        "infos/goal": np.stack([time, time], 1).astype(np.float64),
    }
    return {name: value for name, value in {**columns, **changes}.items() if value is not None}


def hdf5(path: Path, columns: dict[str, Any]) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path.with_suffix(".hdf5"), "w") as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, compression="gzip" if np.ndim(values) else None)
        file["metadata/algorithm"] = "nobody's"
    return path.with_suffix(".hdf5")


def npz(path: Path, columns: dict[str, Any]) -> Path:
    np.savez(path.with_suffix(".npz"), **columns)
    return path.with_suffix(".npz")


each_flat = pytest.mark.parametrize("write", [hdf5, npz])


@each_flat
def test_every_step_is_where_it_was(write: Write, tmp_path: Path) -> None:
    source = flat()
    store = import_data(write(tmp_path / "file", source), tmp_path / "out")
    assert store.lengths.tolist() == [4, 3, 3]
    for episode, (start, stop) in zip(store, [(0, 4), (4, 7), (7, 10)], strict=True):
        assert np.array_equal(episode.observations[:-1], source["observations"][start:stop])
        assert np.array_equal(episode.observations[-1], source["next_observations"][stop - 1])
        for name in ("actions", "rewards"):
            assert np.array_equal(getattr(episode, name), source[name][start:stop])
            assert getattr(episode, name).dtype == source[name].dtype
        goals = source["infos/goal"][start:stop]
        assert np.array_equal(episode.infos["goal"], np.concatenate([goals, goals[-1:]]))
    assert [bool(episode.terminations[-1]) for episode in store] == [True, False, False]
    assert [bool(episode.truncations[-1]) for episode in store] == [False, True, True]
    assert not any((episode.terminations | episode.truncations)[:-1].any() for episode in store)
    TrajectoryStore.open(tmp_path / "out")  # with all checks


@each_flat
def test_without_next_observations_the_last_one_is_repeated(write: Write, tmp_path: Path) -> None:
    store = import_data(write(tmp_path / "file", flat(next_observations=None)), tmp_path / "out")
    for episode in store:
        assert np.array_equal(episode.observations[-1], episode.observations[-2])


@pytest.mark.parametrize("rows", ["one per step", "one per observation"])
def test_offsets_name_the_episodes(rows: str, tmp_path: Path) -> None:
    offsets = np.array([0, 2, 10])
    source = flat(offsets=offsets, terminals=None, timeouts=None, next_observations=None)
    if rows == "one per observation":
        source["observations"] = np.arange(24, dtype=np.float32).reshape(12, 2)
    store = import_data(npz(tmp_path / "file", source), tmp_path / "out")
    assert store.lengths.tolist() == [2, 8]
    seen = np.concatenate([episode.observations for episode in store])
    if rows == "one per observation":
        assert np.array_equal(seen, source["observations"])
    assert np.array_equal(np.concatenate([episode.actions for episode in store]), source["actions"])
    assert all(episode.truncations[-1] for episode in store)


def episodes() -> list[dict[str, Any]]:
    """As many projects pickle them; lists will do for arrays."""
    long = {"observations": np.arange(8.0).reshape(4, 2), "actions": [0, 1, 2, 1], "rewards": [0.0, 0, 0, 1]}
    short = {"observations": np.arange(4.0).reshape(2, 2), "actions": [2, 0], "rewards": [0.0, 0]}
    return [{**long, "terminals": [False, False, False, True]}, {**short, "dones": 1}]


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_pickled_episodes(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "file.pkl"
    path.write_bytes(pickle.dumps(episodes(), protocol=protocol))
    store = import_data(path, tmp_path / "out", allow_pickle=True)
    assert store.lengths.tolist() == [4, 2] and store.spaces.action == gym.spaces.Discrete(3)
    assert store[0].observations.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [6, 7]]
    assert store[0].terminations.tolist() == [False, False, False, True]
    assert store[1].terminations.tolist() == [False, True] and not store[1].truncations.any()
    assert store.returns.tolist() == [1, 0] and store.card["dropped_infos"] == []


ODD_EPISODES: dict[str, tuple[dict[Any, Any], str]] = {
    "ragged observations": ({"observations": [[1.0, 2.0], [3.0]]}, "episode 1 of .* not of one shape"),
    "one observation": ({"observations": 5}, "episode 1 of .* single value as 'observations'"),
    "no actions": ({"actions": None}, "episode 1 of .* single value as 'actions'"),
    "a dict of rewards": ({"rewards": {"a": np.zeros(2)}}, "episode 1 of .* a dict as 'rewards'"),
    "one reward": ({"rewards": 1.0}, "episode 1 of .* single value as 'rewards'"),
    "another form": ({"observations": {"eye": np.zeros(2)}}, "several"),
    "flags": ({"terminals": [True] * 3}, "episode 1 .* 2 steps and 3 flags"),
    "observations after": ({"next_observations": np.zeros((1, 2))}, "episode 1 .* next_observations"),
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("case", ODD_EPISODES)
def test_pickled_episodes_of_another_form(case: str, first: bool, tmp_path: Path) -> None:
    changes, expected = ODD_EPISODES[case]
    listed = episodes()
    listed[1] |= changes
    (tmp_path / "file.pkl").write_bytes(pickle.dumps(listed[::-1] if first else listed))
    with pytest.raises(DataError, match=expected.replace("episode 1", "episode 0") if first else expected):
        import_data(tmp_path / "file.pkl", tmp_path / "out", allow_pickle=True)
    assert not (tmp_path / "out").exists()


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    more = {"infos/odd": [[1], [2, 3]], "infos/one": 4, 7: "seven"}
    (tmp_path / "file.pkl").write_bytes(pickle.dumps([item | more for item in episodes()]))
    store = import_data(tmp_path / "file.pkl", tmp_path / "pickled", allow_pickle=True)
    assert store.card["dropped_infos"] == ["7", "infos/odd", "infos/one"] and not store[0].infos
    notes: list[str] = []
    source = hdf5(tmp_path / "file", flat(**{"infos/few": np.zeros(3)}))
    store = import_data(source, tmp_path / "out", on_note=notes.append)
    assert store.card["dropped_infos"] == ["infos/few", "metadata"] and list(store[0].infos) == ["goal"]
    assert notes == ["left out, since there is no place for it: infos/few, metadata"]


def test_infos_that_do_not_fit_in_every_episode(tmp_path: Path) -> None:
    long, short = episodes()
    long |= {"infos/near": [0, 0, 1, 1], "infos/far": np.zeros(4), "infos/shape": np.zeros((4, 2))}
    short |= {"infos/near": [0.5, 1], "infos/late": np.zeros(2), "infos/shape": np.zeros((2, 3))}
    (tmp_path / "file.pkl").write_bytes(pickle.dumps([long, short]))
    store = import_data(tmp_path / "file.pkl", tmp_path / "out", allow_pickle=True)
    assert store.card["dropped_infos"] == ["infos/far", "infos/late", "infos/shape"]
    assert [episode.infos["near"].tolist() for episode in store] == [[0, 0, 1, 1, 1], [0.5, 1, 1]]


@each_flat
def test_a_file_must_tell_where_its_episodes_end(write: Write, one_line: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "file", flat(terminals=None, timeouts=None, done=np.zeros(STEPS)))
    parts = ("where its episodes end", "terminals", "timeouts", "dones", "offsets", "it holds actions, done")
    one_line(lambda: import_data(source, tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


@each_flat
@pytest.mark.parametrize(
    ("given", "ends", "note"),
    [
        ((), ["terminated", "terminated", "truncated"], True),
        (("timeouts",), ["terminated", "truncated", "truncated"], False),
        (("terminals",), ["terminated", "truncated", "truncated"], False),
        (("terminals", "timeouts"), ["terminated", "truncated", "truncated"], False),
    ],
)
def test_dones_are_ends(write: Write, given: tuple[str, ...], ends: list[str], note: bool, tmp_path: Path) -> None:
    """They count as terminations where nothing tells which kind of end they are."""
    columns = flat()
    dones = columns["terminals"] | columns["timeouts"]
    others = {name: None for name in ("terminals", "timeouts") if name not in given}
    notes: list[str] = []
    store = import_data(write(tmp_path / "file", flat(dones=dones, **others)), tmp_path / "out", on_note=notes.append)
    assert store.lengths.tolist() == [4, 3, 3] and "dones" not in store.card["dropped_infos"]
    assert ["terminated" if episode.terminations[-1] else "truncated" for episode in store] == ends
    assert all(episode.terminations[-1] != episode.truncations[-1] for episode in store)
    assert any("dones mix both kinds of end" in text for text in notes) == note


@each_flat
@pytest.mark.parametrize("dtype", ["i8", "u1", "?"])
def test_rewards_that_are_whole_numbers(write: Write, dtype: str, tmp_path: Path) -> None:
    rewards = (np.arange(STEPS) % 3).astype(dtype)
    store = import_data(write(tmp_path / "file", flat(rewards=rewards)), tmp_path / "out")
    found = np.concatenate([episode.rewards for episode in store])
    assert found.dtype == np.float64 and np.array_equal(found, rewards)


@pytest.mark.parametrize(
    "rewards", [([0, 0, 0, 0], [0.5, 1]), (np.zeros(4, np.float32), [0.1, 1]), ([1.0] * 4, [0, 1])]
)
def test_rewards_of_several_types(rewards: tuple[Any, Any], tmp_path: Path) -> None:
    listed = [item | {"rewards": values} for item, values in zip(episodes(), rewards, strict=True)]
    (tmp_path / "file.pkl").write_bytes(pickle.dumps(listed))
    store = import_data(tmp_path / "file.pkl", tmp_path / "out", allow_pickle=True)
    for episode, values in zip(store, rewards, strict=True):
        assert episode.rewards.dtype == np.float64 and episode.rewards.tolist() == list(values)


def test_a_pickle_needs_to_be_allowed(one_line: Any, tmp_path: Path) -> None:
    (tmp_path / "file.pkl").write_bytes(pickle.dumps(episodes()))
    one_line(lambda: import_data(tmp_path / "file.pkl", tmp_path / "out"), "run code", "--allow-pickle-code")


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("evil",)


def test_an_allowed_pickle_runs_nothing(one_line: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "file.pkl"
    for content in ([Evil()], [{**episodes()[0], "more": Evil()}]):
        source.write_bytes(pickle.dumps(content))
        one_line(lambda: import_data(source, tmp_path / "out", allow_pickle=True), "mkdir", "only arrays")
    assert not (tmp_path / "evil").exists() and not (tmp_path / "out").exists()
    pickle.loads(pickle.dumps(Evil()))
    assert (tmp_path / "evil").exists()  # what the usual reader does


SPACES: dict[str, tuple[dict[str, Any], str, str]] = {
    "classes": ({"actions": np.arange(STEPS) % 4}, "observation", "Box(-inf, inf, (2,), float32)"),
    "classes with an axis": ({"actions": np.arange(STEPS)[:, None] % 4}, "action", "Discrete(4)"),
    "several classes": ({"actions": np.tile([[0, 2]], (STEPS, 1))}, "action", "MultiDiscrete([1 3])"),
    "bounded": ({"actions": np.full((STEPS, 1), 0.5, np.float32)}, "action", "Box(-1.0, 1.0, (1,), float32)"),
    "out of bounds": ({"actions": np.full((STEPS, 1), 3.0)}, "action", "Box(-1.0, 3.0, (1,), float64)"),
    "one number": ({"actions": np.full(STEPS, 0.5)}, "action", "Box(-1.0, 1.0, (1,), float64)"),
    "symbols": ({"observations": np.arange(STEPS) % 6}, "observation", "Discrete(6)"),
    "pixels": ({"observations": np.zeros((STEPS, 4, 4, 3), np.uint8)}, "observation", "Box(0, 255, (4, 4, 3), uint8)"),
    "times": ({"observations": np.arange(STEPS) * 10**8}, "observation", "Box(0, 900000000, (), int64)"),
    "whole numbers": ({"observations": np.tile([[-1, 5]], (STEPS, 1))}, "observation", "Box(-1, 5, (2,), int64)"),
}


@pytest.mark.parametrize("case", SPACES)
def test_inferred_spaces(case: str, tmp_path: Path) -> None:
    changes, kind, expected = SPACES[case]
    source = flat(next_observations=None, **changes)
    store = import_data(npz(tmp_path / "file", source), tmp_path / "out")
    assert str(getattr(store.spaces, kind)) == expected
    values = np.concatenate([episode.actions for episode in store])
    assert np.array_equal(values.reshape(-1), np.asarray(source["actions"]).reshape(-1))


def test_given_spaces_are_taken_and_only_floats_are_rounded(one_line: Any, tmp_path: Path) -> None:
    box = gym.spaces.Box(-9, 200, (2,), np.float32)
    given = Spaces(observation=box, action=gym.spaces.Discrete(5))
    wide = flat(observations=flat()["observations"].astype(np.float64) + 0.1, next_observations=None)
    source = npz(tmp_path / "file", {**wide, "actions": np.arange(STEPS) % 4})
    store = import_data(source, tmp_path / "out", spaces=given)
    assert store.spaces == given and store[0].observations.dtype == np.float32
    halves = npz(tmp_path / "halves", {**wide, "actions": np.arange(STEPS) % 4 + 0.5})
    one_line(lambda: import_data(halves, tmp_path / "no", spaces=given), "episode 0", "actions", "float64")


BAD: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "no rewards": ({"rewards": None}, ("has no 'rewards'", "observations")),
    "fewer actions": ({"actions": np.zeros((9, 2), np.float32)}, ("9 rows of 'actions' where 10",)),
    "negative classes": ({"actions": np.arange(STEPS) - 1}, ("below 0", "--env")),
    "nan": ({"rewards": np.full(STEPS, np.nan)}, ("episode 0", "rewards", "not finite")),
    "infinity": ({"observations": np.full((STEPS, 2), np.inf)}, ("episode 0", "observations", "not finite")),
    "text": ({"observations": np.array(["a"] * STEPS), "next_observations": None}, ("observations", "must be numbers")),
    "an empty episode": ({"offsets": np.array([0, 4, 4, 10])}, ("episode 1", "no step")),
    "offsets that fall": ({"offsets": np.array([0, 4, 2, 10])}, ("offsets", "rise")),
    "one reward": ({"rewards": np.float32(1)}, ("single value", "'rewards'")),
    "one end": ({"terminals": np.bool_(True)}, ("0 rows of 'terminals' where 10",)),
    "too many classes": ({"actions": np.arange(STEPS) * 10**8}, ("actions", "900000000", "--env")),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_imported(case: str, one_line: Any, tmp_path: Path) -> None:
    changes, parts = BAD[case]
    source = npz(tmp_path / "file", flat(**changes))
    one_line(lambda: import_data(source, tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["file.hdf5", "file.npz", "file.pkl"])
def test_a_file_cut_in_half(name: str, one_line: Any, tmp_path: Path) -> None:
    write = {"file.hdf5": hdf5, "file.npz": npz}.get(name)
    if write:
        write(tmp_path / "file", flat())
    else:
        (tmp_path / name).write_bytes(pickle.dumps(episodes()))
    os.truncate(tmp_path / name, (tmp_path / name).stat().st_size // 2)
    one_line(lambda: import_data(tmp_path / name, tmp_path / "out", allow_pickle=True), name, "read")
    assert not (tmp_path / "out").exists()


def test_an_array_alone_is_no_npz(one_line: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "file.npy", np.zeros(3))
    (tmp_path / "file.npy").rename(tmp_path / "file.npz")
    one_line(lambda: import_data(tmp_path / "file.npz", tmp_path / "out"), "not a readable .npz")


@pytest.mark.parametrize("content", [{"a": 1}, [1, 2], []])
def test_a_pickle_of_something_else(content: Any, tmp_path: Path) -> None:
    stream = io.BytesIO()
    pickle.dump(content, stream)
    (tmp_path / "file.pickle").write_bytes(stream.getvalue())
    with pytest.raises(DataError, match="no list of dicts"):
        import_data(tmp_path / "file.pickle", tmp_path / "out", allow_pickle=True)


def test_a_format_that_cannot_be_told(tmp_path: Path) -> None:
    (tmp_path / "file.dat").write_bytes(b"")
    with pytest.raises(RateError, match="give --format"):
        import_data(tmp_path / "file.dat", tmp_path / "out")
    source = npz(tmp_path / "file", flat()).rename(tmp_path / "file.dat")
    assert len(import_data(source, tmp_path / "out", format="npz")) == 3


@pytest.mark.parametrize("name", ["terminals", "timeouts"])
def test_a_flag_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    """A count of steps, for example, under the name of a flag."""
    assert len(import_data(npz(tmp_path / "good", flat(**{name: (np.arange(STEPS) == 3) * 1.0})), tmp_path / "a"))
    with pytest.raises(DataError, match="a flag of its end is neither 0 nor 1"):
        import_data(npz(tmp_path / "bad", flat(**{name: np.arange(STEPS)})), tmp_path / "out")
    assert not (tmp_path / "out").exists()
