"""Every registered model trains and acts with every kind of observation and every kind of action."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from contracts.test_models import config_of
from rate.models import MODELS, unroll
from rate.models.actor import Actor
from rate.testing import build
from rate.testing.windows import acted, close, gradients, make_window, predict
from rate.types import Spaces

OBSERVATIONS: dict[str, gym.Space[Any]] = {
    "vector": gs.Box(-1, 1, (4,)),
    "image": gs.Box(0, 255, (36, 36, 3), np.uint8),
    "discrete": gs.Discrete(5, start=2),
    "multi-discrete": gs.MultiDiscrete([3, 4], start=[1, -1]),
    "dict": gs.Dict(place=gs.Box(-1, 1, (2, 2)), card=gs.Discrete(3, start=1)),
    "tuple": gs.Tuple([gs.MultiDiscrete([2, 3]), gs.MultiBinary(2), gs.Dict(x=gs.Box(-1, 1, (1,)))]),
}
ACTIONS: dict[str, gym.Space[Any]] = {
    "discrete": gs.Discrete(3, start=-1),
    "multi-discrete": gs.MultiDiscrete([3, 2], start=[1, 0]),
    "box": gs.Box(np.array([-1, 0], np.float32), np.array([1, 3], np.float32)),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("model", MODELS.names())
def test_every_space_trains_and_acts(model: str, observation: str, action: str) -> None:
    config = config_of(model)
    policy = build(config, Spaces(observation=OBSERVATIONS[observation], action=ACTIONS[action]))
    spaces = policy.spaces
    window = make_window(spaces, 5, batch=2)
    prediction = unroll(policy, window).prediction
    for name, gradient in gradients(policy, policy.head.loss(prediction, window.action).mean()).items():
        assert gradient is not None and gradient.isfinite().all(), name
    close(acted(policy, window), predict(policy, window))
    chosen = policy.head.to_env(policy.head.act(prediction[:, -1].detach(), sample=False))
    assert all(spaces.action.contains(row) for row in chosen)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("model", MODELS.names())
def test_an_actor_samples_actions_of_the_space(model: str, action: str) -> None:
    config = config_of(model)
    policy = build(config, Spaces(observation=OBSERVATIONS["dict"], action=ACTIONS[action]))
    spaces, actor = policy.spaces, Actor(policy, target_return=1.0, sample=True)
    torch.manual_seed(0)
    spaces.observation.seed(0)
    actor.reset(oracle=None if spaces.oracle is None else spaces.oracle.sample())
    for _ in range(4):
        chosen = actor.act(spaces.observation.sample())
        assert spaces.action.contains(chosen)
        actor.observe(0.5)
