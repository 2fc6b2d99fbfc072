"""What is given to an actor: refused with words where it is not finite, of another shape or outside of its space."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.errors import ConfigError
from rate.models import MODELS
from rate.models.actor import Actor
from rate.types import Spaces

BOX = gym.spaces.Box(-1, 1, (2,))


def actor(observation: gym.Space[Any] = BOX, action: gym.Space[Any] | None = None, **more: Any) -> Actor:
    spaces = Spaces(observation=observation, action=action or gym.spaces.Discrete(3, start=1))
    return Actor(MODELS.get("bc-mlp")(3).build(spaces), **{"target_return": 1.0, **more})


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e39])
@pytest.mark.parametrize("batch", [1, 3])
def test_an_observation_that_is_not_finite(value: float, batch: int) -> None:
    seen = np.zeros((batch, 2))
    seen[-1, 1] = value
    with pytest.raises(ConfigError, match="not finite"):
        actor().act(seen)


def test_large_values_that_are_finite_are_taken() -> None:
    """Their sum is not finite, they are."""
    unbounded = gym.spaces.Box(-np.inf, np.inf, (2,))
    actor(unbounded).act(np.full(2, 3e38, np.float32))


@pytest.mark.parametrize("value", [math.nan, -math.inf, 1e39, "x", None])
def test_a_reward_that_is_no_finite_number(value: Any) -> None:
    one = actor()
    one.act(np.zeros(2))
    with pytest.raises(ConfigError, match="rewards"):
        one.observe(value)
    one.observe(1.0)


@pytest.mark.parametrize("name", ["target_return", "return_scale"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1e39, "much", None, True])
def test_a_target_that_is_no_finite_number(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        actor(**{name: value})


def test_a_scale_must_leave_the_target_finite() -> None:
    with pytest.raises(ConfigError, match="return_scale"):
        actor(target_return=1e30, return_scale=1e-30)
    with pytest.raises(ConfigError, match="positive"):
        actor(return_scale=0)


ACTIONS: dict[str, tuple[gym.Space[Any], Any, Any]] = {
    "discrete": (gym.spaces.Discrete(3, start=1), 3, 4),
    "below": (gym.spaces.Discrete(3, start=1), 1, 0),
    "fraction": (gym.spaces.Discrete(3, start=1), 2, 2.5),
    "text": (gym.spaces.Discrete(3, start=1), 2, "up"),
    "shape": (gym.spaces.Discrete(3, start=1), 2, [1, 2]),
    "several": (gym.spaces.MultiDiscrete([2, 3]), [1, 2], [2, 0]),
    "box": (BOX, [1.0, -1.0], [0.0, 1.5]),
    "nan": (BOX, [0.0, 0.0], [0.0, math.nan]),
    "endless": (gym.spaces.Box(-np.inf, np.inf, (2,)), [1e30, -5.0], [math.inf, 0]),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_outside_of_the_space(name: str) -> None:
    space, inside, outside = ACTIONS[name]
    one = actor(action=space)
    one.act(np.zeros(2))
    with pytest.raises(ConfigError, match="action"):
        one.observe(0.0, action=outside)
    one.observe(0.0, action=inside)
    one.act(np.zeros(2))


def test_a_refused_action_leaves_the_return_to_go() -> None:
    one = actor()
    one.act(np.zeros(2))
    before = one._return_to_go.clone()
    with pytest.raises(ConfigError):
        one.observe(1.0, action=9)
    assert (one._return_to_go == before).all()


def test_a_class_that_is_not_in_the_space_of_observations() -> None:
    with pytest.raises(ConfigError, match="class"):
        actor(gym.spaces.Discrete(4)).act(4)


def test_an_actor_needs_a_policy() -> None:
    with pytest.raises(ConfigError, match="policy"):
        Actor("runs/mine", target_return=1.0)  # type: ignore[arg-type]
