"""Behaviour policies of D4RL's grades: they reach what their file says, in its order."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from rate.envs import ENVS
from rate.envs.mujoco import GRADES, NAMES, REFERENCES
from rate.envs.mujoco.grades import behaviour
from rate.envs.spec import CollectRequest
from rate.errors import ConfigError
from rate.types import Trajectory

pytest.importorskip("mujoco", reason="needs the extra mujoco")

WALKERS = [name.removeprefix("mujoco/") for name in NAMES]


def collected(name: str, grade: str, episodes: int, **options: object) -> list[Trajectory]:
    request = CollectRequest(episodes=episodes, seed=0, kwargs={"grade": grade, **options})
    return list(ENVS.get(f"mujoco/{name}").expert(request))


def total(item: Trajectory) -> float:
    return float(item.rewards.sum())


@pytest.mark.parametrize("name", WALKERS)
def test_every_grade_has_a_measured_return_and_the_file_is_small(name: str) -> None:
    returns = behaviour(name).returns
    assert set(returns) == set(GRADES)
    assert returns["random"] < returns["medium-replay"] < returns["medium-expert"] < returns["expert"]
    assert returns["random"] < returns["medium"] < returns["medium-expert"]
    share = (returns["medium"] - returns["random"]) / (returns["expert"] - returns["random"])
    assert 0.3 < share < 0.55
    assert REFERENCES[name] == (returns["random"], returns["expert"])
    assert len((files("rate.envs.mujoco") / "policies" / f"{name}.json").read_bytes()) < 40_000


@pytest.mark.parametrize("name", WALKERS)
@pytest.mark.parametrize("grade", ["medium", "expert"])
def test_the_policies_reach_what_is_published(name: str, grade: str) -> None:
    published = json.loads((files("rate.envs.mujoco") / "policies" / f"{name}.json").read_text())["returns"][grade]
    found = np.mean([total(item) for item in collected(name, grade, 4)])
    assert abs(found - published["mean"]) < 4 * published["std"] / np.sqrt(4)


def test_medium_expert_is_half_of_each() -> None:
    lengths = np.array([len(item) for item in collected("hopper", "medium-expert", 12, max_steps=600)])
    assert 2 <= (lengths == 600).sum() <= 10


def test_medium_replay_plays_a_different_policy_in_every_episode() -> None:
    items = collected("hopper", "medium-replay", 8, max_steps=1)
    first = np.stack([item.actions[0] for item in items])
    assert len(np.unique(first.round(3), axis=0)) == 8


def test_a_policy_plays_by_the_whole_state_whatever_is_shown() -> None:
    whole, part = (collected("hopper", "expert", 1, observe=shown, max_steps=50)[0] for shown in ("all", "positions"))
    np.testing.assert_array_equal(whole.actions, part.actions)
    np.testing.assert_array_equal(whole.observations[:, :5], part.observations)


def test_an_unknown_grade_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"grade must be one of random, medium-replay, .*, got 'full'"):
        collected("hopper", "full", 1)
