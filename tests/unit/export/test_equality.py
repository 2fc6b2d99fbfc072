"""An exported policy says what the policy says: every model and every space, over borders, for one episode and many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from contracts.test_models import IMAGES, VARIANTS, config_of
from rate.export import Asked, export_policy
from rate.export.check import largest_difference, samples
from rate.export.runner import Policy
from rate.models import MODELS, SequencePolicy
from rate.models.actor import Actor
from rate.testing import SPACES, build
from rate.types import Spaces

EVERY = {**SPACES, **IMAGES}
TURNS = list(EVERY)
CASES = [(variant, TURNS[index % len(TURNS)]) for index, variant in enumerate(VARIANTS)]
"""Every model and variant with one space, in turn; each space many times."""
CASES += [("rate", "image"), ("gtrxl", "frames"), ("dt", "image"), ("lsdt", "grid"), ("dmamba", "image")]
ASKED = Asked(target_return=1.5, return_scale=2.0)


def policy_of(variant: str, spaces: Spaces) -> SequencePolicy[Any]:
    torch.manual_seed(0)
    return build(config_of(variant), spaces).eval()


def test_every_model_is_among_the_cases() -> None:
    assert {variant for variant, _ in CASES} >= set(MODELS.names())
    assert {space for _, space in CASES} == set(EVERY)


@pytest.mark.parametrize(("variant", "space"), CASES)
def test_the_runner_equals_step(variant: str, space: str, tmp_path: Path) -> None:
    policy = policy_of(variant, EVERY[space])
    card = export_policy(policy, tmp_path / "export", ASKED)
    assert card["checked"]["largest_difference"] < 1e-5
    steps = 4 * (policy.segment_len or policy.context or 3) + 2
    for batch in (1, 32):
        assert largest_difference(policy, tmp_path / "export", ASKED, steps, batch) < 1e-5


@pytest.mark.parametrize("prompt", ["constant", "per-segment"])
def test_prompts(prompt: str, tmp_path: Path) -> None:
    asked = Asked(target_return=-3.0, return_scale=4.0, prompt=prompt)
    card = export_policy(policy_of("rate", SPACES["vector"]), tmp_path / "export", asked)
    assert card["checked"]["largest_difference"] < 1e-5


ACTIONS: dict[str, gym.Space[Any]] = {
    "whole numbers": gym.spaces.Box(-1, 1, (2,), np.int32),
    "double": gym.spaces.Box(np.array([-0.1, 0.2]), np.array([0.1, 0.3]), dtype=np.float64),
    "classes": gym.spaces.MultiDiscrete([3, 2], start=[1, 5], dtype=np.int16),
}


@pytest.mark.parametrize("kind", list(ACTIONS))
def test_actions_are_those_of_the_actor(kind: str, tmp_path: Path) -> None:
    spaces = Spaces(observation=gym.spaces.Box(-1, 1, (3,), np.float64), action=ACTIONS[kind])
    policy = policy_of("rate", spaces)
    export_policy(policy, tmp_path / "export", ASKED)
    runner, observations = Policy(tmp_path / "export"), samples(spaces.observation, 3)
    actor = Actor(policy, target_return=2.5, return_scale=2.0)
    runner.reset(target_return=2.5)
    for _ in range(8):
        observation = next(observations)
        ours, theirs = actor.act(observation), runner.act(observation, [0.5, 0.25, 0.0])
        assert theirs.dtype == ours.dtype and theirs.shape == ours.shape
        np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-6)
        actor.observe([0.5, 0.25, 0.0])
    runner.reset()
    assert runner.act(next(observations)[0]) in ACTIONS[kind]
