"""Tokens of returns, observations and actions start alike in every registered environment: none drowns the others."""

from __future__ import annotations

from operator import itemgetter

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from rate.envs import ENVS
from rate.envs.batch import stack_trees
from rate.envs.spec import CollectRequest
from rate.errors import MissingExtraError
from rate.nn.encoders import EARLIER, EncoderConfig, units
from rate.nn.tokens import Tokens, TokensConfig
from rate.testing.envs import limits
from rate.types import Inputs, Spaces, Trajectory, to_tensor, tree_map

WIDTH, EPISODES, STEPS = 64, 2, 4


def sizes(name: str, encoder: EncoderConfig) -> list[float]:
    """Root mean squares of the tokens of some steps of an expert, fresh weights."""
    spec = ENVS.get(name)
    try:
        env = spec.make()
    except MissingExtraError:
        pytest.skip("its extra is not installed")
    torch.manual_seed(0)
    tokens = Tokens(
        Spaces(observation=env.observation_space, action=env.action_space),
        TokensConfig(width=WIDTH, dropout=0.0, encoder=encoder),
    )
    episodes = list(spec.expert(CollectRequest(episodes=EPISODES, seed=0, kwargs=limits(spec))))
    if isinstance(env.observation_space, gym.spaces.Box) and not env.observation_space.is_bounded():
        _fit(tokens, episodes)
    seen = [
        tree_map(itemgetter(step), one.observations)
        for one in episodes
        for step in range(0, len(one), -(-len(one) // STEPS))
    ]
    actions = torch.as_tensor(np.concatenate([one.actions for one in episodes]))
    scale = max(1.0, *(abs(float(one.rewards.sum())) for one in episodes))  # as data.return_scale is set
    returns = torch.as_tensor(
        [float(one.rewards.sum()) / scale for one in episodes for _ in range(0, len(one), -(-len(one) // STEPS))]
    )
    message = Inputs(observation=to_tensor(stack_trees(seen)), previous_action=None, return_to_go=returns, timestep=0)

    def rms(x: Tensor) -> float:
        return float(x.detach().square().mean().sqrt())

    return [*map(rms, tokens.prompt(message)), rms(tokens.action(actions, 0))]


def _fit(tokens: Tokens, episodes: list[Trajectory]) -> None:
    """What no space bounds is taken in units of the data."""
    assert tokens.actions is not None
    for encoder, rows in (
        (tokens.observation, np.concatenate([one.observations for one in episodes])),
        (tokens.actions[0], np.concatenate([one.actions for one in episodes])),
    ):
        for _, unit in units(encoder):
            unit.fit(rows.mean(0), rows.std(0))


@pytest.mark.parametrize("name", ENVS.names())
def test_the_three_kinds_are_within_a_factor_of_three(name: str) -> None:
    found = sizes(name, EncoderConfig())
    assert max(found) < 3 * min(found), found


def test_plain_sums_are_not() -> None:
    """What is published was trained so; the factor of three is a property of the scale, not of the environments."""
    found = sizes("popgym/Concentration-Easy", EARLIER)
    assert max(found) > 5 * min(found), found
