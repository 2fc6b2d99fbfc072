"""Collecting runs the expert of an environment and names what it makes."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rate.cli.main import main
from rate.data import collect as collecting_parts
from rate.data import place as place_module
from rate.data.collect import PART, collect, dataset_name, parts_of
from rate.data.store import is_store
from rate.envs import ENVS
from rate.envs.spec import CollectRequest, EnvSpec
from rate.errors import ConfigError, DataError, MissingExtraError, RateError
from rate.experiment import collecting
from rate.experiment.collecting import Job, collect_to
from rate.system import lock
from rate.system.signals import Interrupted
from rate.training.run_dir import LockedError, locked
from rate.types import Trajectory

REQUEST = CollectRequest(episodes=4, seed=10, kwargs={"length": 5})


def test_collect(toy_spec: EnvSpec, tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    store = collect(toy_spec, REQUEST, tmp_path / "set", lambda done, total: calls.append((done, total)))
    assert store.lengths.tolist() == [5] * 4 and store.seeds.tolist() == [10, 11, 12, 13]
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert store.card["environment"] == "Toy/Maze"
    assert store.card["options"] == {"length": 5, "width": 4, "missing": 0}


def test_spaces_follow_the_options(toy_spec: EnvSpec, tmp_path: Path) -> None:
    store = collect(toy_spec, replace(REQUEST, kwargs={"width": 2}), tmp_path / "set")
    assert store.spaces.observation.shape == (2,)


def test_same_request_same_data(toy_spec: EnvSpec, tmp_path: Path) -> None:
    one, other = (collect(toy_spec, REQUEST, tmp_path / name) for name in "ab")
    assert one.card["shards"] == other.card["shards"]
    assert all(np.array_equal(a.observations, b.observations) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("option", "hint"), [("lenght", "did you mean 'length'"), ("zzz", "known: length, missing, width")]
)
def test_unknown_option(option: str, hint: str, toy_spec: EnvSpec, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=hint):
        collect(toy_spec, replace(REQUEST, kwargs={option: 1}), tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_no_episodes(toy_spec: EnvSpec, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="episodes must be positive"):
        collect(toy_spec, replace(REQUEST, episodes=0), tmp_path / "set")


def test_expert_that_gives_up(toy_spec: EnvSpec, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gave 3 episodes where 4"):
        collect(toy_spec, replace(REQUEST, kwargs={"missing": 1}), tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_names(toy_spec: EnvSpec) -> None:
    requests: list[CollectRequest] = [
        REQUEST,
        replace(REQUEST, seed=11),
        replace(REQUEST, episodes=5),
        replace(REQUEST, kwargs={"length": 6}),
        replace(REQUEST, kwargs={"length": 5, "width": 3}),
    ]
    names = [dataset_name(toy_spec, request) for request in requests]
    names.append(dataset_name(replace(toy_spec, name="Toy Maze"), REQUEST))
    assert len(set(names)) == 6
    assert all(re.fullmatch(r"toy-maze-[0-9a-f]{12}", name) for name in names)


def test_defaults_do_not_change_the_name(toy_spec: EnvSpec) -> None:
    spelled_out: dict[str, Any] = {"missing": 0, "width": 4, "length": 5}
    assert dataset_name(toy_spec, replace(REQUEST, kwargs=spelled_out)) == dataset_name(toy_spec, REQUEST)


def test_an_option_that_is_off_is_not_in_the_name(toy_spec: EnvSpec) -> None:
    """A new option does not send anybody to collect what is there."""
    later = replace(toy_spec, expert_defaults={**toy_spec.expert_defaults, "noise": None})
    assert dataset_name(later, REQUEST) == dataset_name(toy_spec, REQUEST)
    assert dataset_name(later, replace(REQUEST, kwargs={"noise": 0.0})) != dataset_name(toy_spec, REQUEST)


def test_name_needs_json_options(toy_spec: EnvSpec) -> None:
    with pytest.raises(ConfigError, match="must be JSON values"):
        dataset_name(toy_spec, replace(REQUEST, kwargs={"length": {1, 2}}))


# ------------------------------------------------------------------------------------------------------ parts


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch, no_fsync: None) -> None:
    """Three episodes to a part, in this process."""
    monkeypatch.setattr(collecting_parts, "PART", 3)


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def stop_at(episode: int) -> Callable[[int, int], None]:
    def stop(done: int, total: int) -> None:
        if done == episode:
            raise KeyboardInterrupt

    return stop


def test_parts_cover_the_data_set_and_depend_on_the_request_alone(small_parts: None) -> None:
    assert parts_of(replace(REQUEST, episodes=8)) == [range(3), range(3, 6), range(6, 8)]
    assert parts_of(replace(REQUEST, episodes=3)) == [range(3)]


@pytest.mark.usefixtures("small_parts")
def test_joined_parts_are_the_files_of_one_collection(toy_spec: EnvSpec, tmp_path: Path) -> None:
    request, calls = replace(REQUEST, episodes=8), list[int]()
    collect(toy_spec, request, tmp_path / "whole")
    collect_to(toy_spec, request, tmp_path / "parts", on_episode=lambda done, total: calls.append(done))
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert sorted(inside.name for inside in tmp_path.iterdir()) == ["parts", "whole"]
    assert calls == list(range(1, 9))


@pytest.mark.usefixtures("small_parts")
def test_a_stopped_collection_goes_on(toy_spec: EnvSpec, tmp_path: Path) -> None:
    request, calls = replace(REQUEST, episodes=8), list[int]()
    with pytest.raises(Interrupted, match=r"^stopped; 6 of 8 episodes are kept, start the same collection again"):
        collect_to(toy_spec, request, tmp_path / "set", on_episode=stop_at(7))
    assert not (tmp_path / "set").exists()
    # Another request leaves these parts alone and does not use them.
    collect_to(toy_spec, replace(request, seed=4), tmp_path / "other")
    collect_to(toy_spec, request, tmp_path / "set", on_episode=lambda done, total: calls.append(done))
    assert calls == [6, 7, 8]
    collect(toy_spec, request, tmp_path / "whole")
    assert contents(tmp_path / "set") == contents(tmp_path / "whole") != contents(tmp_path / "other")
    assert sorted(inside.name for inside in tmp_path.iterdir()) == ["other", "set", "whole"]


@pytest.mark.usefixtures("small_parts")
def test_nothing_is_left_where_no_part_is_complete(toy_spec: EnvSpec, tmp_path: Path) -> None:
    request = replace(REQUEST, episodes=8)
    with pytest.raises(KeyboardInterrupt):
        collect_to(toy_spec, request, tmp_path / "set", on_episode=stop_at(2))
    with pytest.raises(DataError, match="gave 2 episodes where 3"):
        collect_to(toy_spec, replace(request, kwargs={"missing": 1}), tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_parts")
def test_a_part_that_a_power_cut_damaged_is_made_again(toy_spec: EnvSpec, tmp_path: Path) -> None:
    request = replace(REQUEST, episodes=8)
    with pytest.raises(Interrupted):
        collect_to(toy_spec, request, tmp_path / "set", on_episode=stop_at(8))
    [first, _] = sorted(tmp_path.glob(".set.*.parts/part-*"))
    column = first / "shard-00000" / "actions.npy"
    column.write_bytes(bytes(column.stat().st_size))
    collect_to(toy_spec, request, tmp_path / "set")
    collect(toy_spec, request, tmp_path / "whole")
    assert contents(tmp_path / "set") == contents(tmp_path / "whole")


@pytest.mark.parametrize("faster", [True, False], ids=["the other ends", "the other is killed"])
@pytest.mark.usefixtures("small_parts")
def test_who_comes_second_waits(
    faster: bool, toy_spec: EnvSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    request, calls = replace(REQUEST, episodes=8), list[tuple[int, int]]()
    place = tmp_path / f".set.{dataset_name(toy_spec, request)[-12:]}.parts"
    place.mkdir()
    other = ExitStack()
    other.enter_context(locked(place))

    def sleep(seconds: float) -> None:
        if faster:
            collect(toy_spec, request, tmp_path / "set")
        other.close()

    monkeypatch.setattr(place_module.time, "sleep", sleep)
    collect_to(toy_spec, request, tmp_path / "set", on_episode=lambda done, total: calls.append((done, total)))
    assert is_store(tmp_path / "set")
    assert calls == ([(0, 8)] if faster else [(0, 8), *((done, 8) for done in range(1, 9))])


def test_a_lock_that_was_removed_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waited for it while it was removed must not believe to be alone."""

    def removed(file: Any, *_: Any) -> bool:
        (tmp_path / ".lock").unlink()
        return True

    monkeypatch.setattr(lock, "_take", removed)
    with pytest.raises(LockedError), locked(tmp_path):
        pytest.fail("it is held")


@pytest.mark.usefixtures("small_parts")
def test_an_environment_that_cannot_be_sent_is_collected_in_this_process(
    toy_spec: EnvSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "in_processes", lambda *_, **__: pytest.fail("a process is started"))
    collect_to(toy_spec, replace(REQUEST, episodes=8), tmp_path / "set", workers=2)
    assert is_store(tmp_path / "set")


@pytest.mark.parametrize(
    "reason", [ConfigError("no such grade"), MissingExtraError("popgym", "popgym"), ZeroDivisionError("of the expert")]
)
def test_what_goes_wrong_in_a_worker_comes_through(reason: Exception, toy_spec: EnvSpec, tmp_path: Path) -> None:
    def fail(request: CollectRequest) -> Iterator[Trajectory]:
        raise reason

    spec = replace(toy_spec, expert=fail)
    result = collecting._in_worker(Job(spec=spec, request=REQUEST, place=tmp_path, attempt=tmp_path))
    received = pickle.loads(pickle.dumps(result))
    if isinstance(reason, RateError):
        assert type(received) is type(reason) and str(received) == str(reason)
    else:
        assert str(received) == "a worker failed: ZeroDivisionError: of the expert"
    with pytest.raises(type(received)):
        collecting._raise(Job(spec=spec, request=REQUEST, place=tmp_path, attempt=tmp_path), received)


def test_workers_report_at_intervals_and_all(monkeypatch: pytest.MonkeyPatch) -> None:
    now, reported = 0.0, list[int]()
    monkeypatch.setattr(collecting.time, "monotonic", lambda: now)
    add, rest = collecting._throttled(reported.append)
    for now in (0.01, 0.02, 0.2, 0.21, 0.22):  # noqa: B007 the clock reads it
        add(1)
    rest()
    assert reported == [3, 2]


@pytest.mark.parametrize(("workers", "message"), [(-1, "must not be negative")])
def test_workers_that_cannot_be(workers: int, message: str, toy_spec: EnvSpec, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        collect_to(toy_spec, REQUEST, tmp_path / "set", workers=workers)


def test_a_place_that_is_taken_is_left_alone(toy_spec: EnvSpec, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    collect_to(toy_spec, REQUEST, tmp_path / "set")  # an empty directory is free
    before = contents(tmp_path)
    with pytest.raises(DataError, match="already holds a data set"):
        collect_to(toy_spec, REQUEST, tmp_path / "set")
    with pytest.raises(DataError, match="in the way"):
        collect_to(toy_spec, REQUEST, tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["by value", "by a name that workers do not know"])
def test_two_workers(known: bool, toy_spec: EnvSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ENVS, "_values", {**ENVS._values, toy_spec.name: toy_spec})
    spec = ENVS.get("tmaze") if known else toy_spec
    request, calls = CollectRequest(episodes=2 * PART + 10, seed=1, kwargs={"length": 5}), list[tuple[int, int]]()
    collect_to(spec, request, tmp_path / "set", workers=2, on_episode=lambda *call: calls.append(call))
    collect(spec, request, tmp_path / "whole")
    assert contents(tmp_path / "set") == contents(tmp_path / "whole")
    assert calls[-1] == (510, 510) and [done for done, _ in calls] == sorted(done for done, _ in calls)


# ----------------------------------------------------------------------------------------------- the command


@pytest.fixture
def two_toys(toy_spec: EnvSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two registered environments, and a place for their data."""
    toys = {name: replace(toy_spec, name=name) for name in ("toy/a", "toy/b")}
    monkeypatch.setattr(ENVS, "_values", {**ENVS._values, **toys})
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_pattern_collects_each(two_toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["collect", "toy/*", "--episodes", "3", "--set", "length=2"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" s, in ")[0].split(", 6 steps")[0] for line in lines] == [
        "toy/a: 3 episodes",
        "toy/b: 3 episodes",
    ]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["environment"], row["steps"]) for row in rows] == [("toy/a", 6), ("toy/b", 6)]
    assert {Path(row["path"]).name for row in rows} == {inside.name for inside in two_toys.iterdir()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["toy/*", "--out", "x"], "--out names one data set and 'toy/*' 2 environments"),
        (["toi/*"], "unknown environment 'toi/*'"),
        (["toy/a", "--workers", "-1"], "workers is -1"),
    ],
)
def test_commands_that_cannot_be(
    words: list[str], message: str, two_toys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", *words]) == 2
    assert message in capsys.readouterr().err and not two_toys.exists()
