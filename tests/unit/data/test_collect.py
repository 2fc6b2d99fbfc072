"""Collecting runs the expert of an environment and names what it makes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rate.data.collect import collect, dataset_name
from rate.envs.spec import CollectRequest, EnvSpec
from rate.errors import ConfigError, DataError

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


def test_name_needs_json_options(toy_spec: EnvSpec) -> None:
    with pytest.raises(ConfigError, match="must be JSON values"):
        dataset_name(toy_spec, replace(REQUEST, kwargs={"length": {1, 2}}))
