"""The recipe for data of one's own: evaluation has the arguments with which Minari data was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from rate.data.store import StoreWriter, TrajectoryStore
from rate.envs.find import find_env
from rate.evaluation.evaluator import cases_of, limited
from rate.experiment.own import named_env, own
from rate.types import Spaces, Trajectory

LAKE = "FrozenLake-v1"


def made(path: Path, **changes: Any) -> TrajectoryStore:
    """Three steps on a lake, with the description that Minari keeps of an environment that was made like this."""
    env = gym.make(LAKE, **changes)
    assert env.spec is not None
    spaces = Spaces(observation=env.observation_space, action=env.action_space)
    return written(path, spaces, json.loads(env.spec.to_json()))


def written(path: Path, spaces: Spaces, described: dict[str, Any]) -> TrajectoryStore:
    last = np.arange(3) == 2
    episode = Trajectory(
        observations=np.zeros(4, np.int64),
        actions=np.zeros(3, np.int64),
        rewards=np.zeros(3),
        terminations=last,
        truncations=~last & False,
    )
    options = {"env_spec": json.dumps(described)}
    with StoreWriter(path, spaces=spaces, environment=described["id"], options=options, generator="me") as writer:
        writer.add(episode)
    return TrajectoryStore.open(path)


SAME: dict[str, tuple[dict[str, Any], str]] = {
    "an argument": ({"is_slippery": False}, "is_slippery=false"),
    "a limit": ({"max_episode_steps": 7}, "max_episode_steps=7"),
    "a later limit": ({"max_episode_steps": 700}, "max_episode_steps=700"),
    "both": ({"success_rate": 0.5, "max_episode_steps": 7}, "success_rate=0.5,max_episode_steps=7"),
}


@pytest.mark.parametrize("case", SAME)
def test_evaluation_has_the_arguments_of_the_data(case: str, tmp_path: Path) -> None:
    changes, text = SAME[case]
    store, notes = made(tmp_path / "log", render_mode="ansi", **changes), list[str]()
    config = own(store, "log", LAKE, on_note=notes.append)
    assert config.eval.cases == (text,) and config.eval.max_steps is None
    assert len(notes) == 1 and text in notes[0] and "the same" in notes[0] and "--set name=value" in notes[0]
    played = cases_of(find_env(LAKE), config.eval.cases)[0]
    assert played.kwargs == changes and played.max_steps == changes.get("max_episode_steps", 100)


class Word(gym.Env[Any, Any]):
    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def __init__(self, word: str = "no") -> None:
        self.word = word


def test_an_argument_that_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gym.registry, "Word-v0", EnvSpec("Word-v0", Word))
    spaces = Spaces(observation=Word.observation_space, action=Word.action_space)
    described = {"id": "Word-v0", "max_episode_steps": 9, "kwargs": {"word": "7"}}
    store = written(tmp_path / "log", spaces, described)
    config = own(store, "log", "Word-v0", on_note=lambda _: None)
    played = limited(cases_of(find_env("Word-v0"), config.eval.cases)[0], config.eval)
    assert played.kwargs == {"word": "7", "max_episode_steps": 9} and played.max_steps == 9
    assert config.eval.max_steps is None and find_env("Word-v0").make(**played.kwargs).unwrapped.word == "7"


@pytest.mark.parametrize(("name", "kwargs"), [("json:Word-v0", {"word": "7"}), ("Word-v0", {"word": "os:system"})])
def test_a_text_of_the_data_goes_into_no_code(
    name: str, kwargs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(gym.registry, "Word-v0", EnvSpec("Word-v0", Word))
    spaces = Spaces(observation=Word.observation_space, action=Word.action_space)
    store = written(tmp_path / "log", spaces, {"id": "Word-v0", "max_episode_steps": 9, "kwargs": kwargs})
    notes: list[str] = []
    assert own(store, "log", name, on_note=notes.append).eval.cases == ()
    assert len(notes) == 1 and "the usual arguments" in notes[0] and "--set" in notes[0]


def test_usual_arguments_need_no_case(tmp_path: Path) -> None:
    notes: list[str] = []
    for name, changes in {"bare": {}, "named": {"map_name": "4x4", "max_episode_steps": 100}}.items():
        assert own(made(tmp_path / name, **changes), "log", LAKE, on_note=notes.append).eval.cases == ()
    other = made(tmp_path / "other", is_slippery=False)
    assert own(other, "log", "", on_note=notes.append).eval.cases == ()  # no environment
    assert not notes


@pytest.mark.parametrize(
    "kwargs",
    [{"desc": ["SFFF", "FHFH", "FFFH", "HFFG"]}, {"map_name": "a,b"}, {"no_such_argument": 1}, {"map_name": "8x8"}],
    ids=str,
)
def test_arguments_that_no_case_can_hold(kwargs: dict[str, Any], tmp_path: Path) -> None:
    """Not simple, unknown to this release, or of other spaces than those of the data."""
    env = gym.make(LAKE)
    assert env.spec is not None
    described = json.loads(env.spec.to_json())
    described["kwargs"] |= kwargs
    spaces = Spaces(observation=env.observation_space, action=env.action_space)
    notes: list[str] = []
    config = own(written(tmp_path / "log", spaces, described), "log", LAKE, on_note=notes.append)
    assert config.eval.cases == () and len(notes) == 1
    assert "the usual arguments" in notes[0] and next(iter(kwargs)) in notes[0] and "--set" in notes[0]


def test_data_of_other_spaces_tells_how_it_was_made(tmp_path: Path) -> None:
    name, reason = named_env(made(tmp_path / "log", map_name="8x8", is_slippery=False))
    assert name == "" and "they differ" in reason and 'made with map_name="8x8",is_slippery=false' in reason
