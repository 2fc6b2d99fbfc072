"""One episode to look at: who plays, what is seen, where it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.envs import ENVS
from rate.envs.spec import EnvSpec
from rate.errors import ConfigError
from rate.evaluation.episode import by_chance, describe, make_to_watch, play
from rate.evaluation.rollout import rollout
from rate.models import RateConfig
from rate.models.actor import Actor
from rate.types import Spaces

TMAZE = ENVS.get("tmaze")


class Silent(gym.Env[Any, Any]):
    """Names a mode that its constructor does not take; sees a dict; never ends."""

    metadata = {"render_modes": ["ansi"]}
    observation_space = gym.spaces.Dict({"a": gym.spaces.Box(-1, 1, (2,)), "b": gym.spaces.Discrete(9)})
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return {"a": np.zeros(2, np.float32), "b": 7}, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return {"a": np.full(2, 0.5, np.float32), "b": 8}, 0.25, False, False, {}


def silent() -> EnvSpec:
    return replace(TMAZE, name="silent", make=lambda **kwargs: Silent(**kwargs))


def test_frames_tell_step_action_reward_and_return() -> None:
    env = make_to_watch(TMAZE, {"length": 5}, ("rgb_array", "ansi"))
    frames = list(play(env, lambda env: TMAZE.player(env, np.random.default_rng(0)), 0, 100))  # type: ignore[misc]
    assert [frame.step for frame in frames] == [0, 1, 2, 3, 4]
    assert [frame.action for frame in frames] == [None, 0, 0, 0, 1]
    assert [frame.reward for frame in frames] == [0, 0, 0, 0, 1] and frames[-1].episode_return == 1
    assert frames[0].picture == "   G\no...\n   .\n" and "o" in str(frames[-1].picture).split("\n")[0]


def test_an_actor_plays_as_it_does_in_a_batch() -> None:
    env = make_to_watch(TMAZE, {"length": 9}, ())
    spaces = Spaces(observation=env.observation_space, action=env.action_space)
    actor = Actor(RateConfig(segment_len=3, width=16, layers=1).build(spaces), target_return=1.0)
    for seed in (4, 5):
        batch = rollout(actor, TMAZE.make_batch(length=9), np.array([seed]), 9)
        last = list(play(env, actor, seed, 9))[-1]
        assert (last.step, last.episode_return) == (batch.lengths[0], batch.returns[0])


def test_chance_is_the_same_for_a_seed_and_ends_at_the_limit() -> None:
    env = make_to_watch(silent(), {}, ())
    one, again, other = ([frame.action for frame in play(env, by_chance(seed), seed, 40)] for seed in (1, 1, 2))
    assert len(one) == 41 and one == again != other
    with pytest.raises(ConfigError, match="0 steps"):
        list(play(env, by_chance(0), 0, 0))


def test_without_a_picture_the_observation_is_told() -> None:
    env = make_to_watch(silent(), {}, ("ansi",))  # which the constructor refuses
    assert env.render_mode is None
    frames = list(play(env, by_chance(0), 0, 1))
    assert [frame.picture for frame in frames] == ["a: [0. 0.]\nb: 7", "a: [0.5 0.5]\nb: 8"]


def test_large_values_are_told_shortly() -> None:
    assert describe(np.zeros((84, 84, 3), np.uint8)).count("\n") < 30
    assert describe((np.int64(3), np.float32(0.12345))) == "0: 3\n1: 0.123"


def test_an_oracle_that_is_not_told_is_refused() -> None:
    env = make_to_watch(silent(), {}, ())
    spaces = Spaces(observation=env.observation_space, action=env.action_space)
    actor = Actor(RateConfig(segment_len=3, width=16, layers=1).build(spaces), target_return=1.0)
    with pytest.raises(ConfigError, match="does not tell 'clue'"):
        list(play(env, actor, 0, 1, "clue"))
