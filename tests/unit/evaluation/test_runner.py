"""The episode runner: records that do not depend on how it is built, and a caller whose mode and random state stay.

The expected records were made before there was one runner for all; the policy is arithmetic, so no model changes them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rate.envs import ENVS
from rate.envs.spec import spaces_of
from rate.evaluation.evaluator import EvalConfig, Evaluator
from rate.evaluation.rollout import LockStep, acting, rollout
from rate.models import SequencePolicy
from rate.models.actor import Actor
from rate.types import Inputs, Output, Segment, tree_leaves

CASES = {"aar": {"length": 12}, "tmaze": {"length": 6}, "popgym/RepeatPrevious-Easy": {}}
EXPECTED = {
    ("aar", False): ([1, 2, 2, 1, 2, 3, 3, 1, 1], "115656ff70df6d8b"),
    ("aar", True): ([2, 2, 2, 2, 2, 3, 3, 1, 2], "a483641adac6b656"),
    ("tmaze", False): ([6, 6, 6, 6, 6, 6, 6, 6, 6], "a3278c52f81641d2"),
    ("tmaze", True): ([6, 6, 6, 6, 6, 6, 6, 6, 6], "7f64ee12a08ef065"),
    ("popgym/RepeatPrevious-Easy", False): ([15, 15, 15, 15, 15, 15, 15, 15, 15], "a6c2370a19a9b9f2"),
    ("popgym/RepeatPrevious-Easy", True): ([15, 15, 15, 15, 15, 15, 15, 15, 15], "94f357b88410e5d2"),
}


class Arithmetic(SequencePolicy[Tensor]):
    """The state of an episode is a number that all it was given goes into; the logits are its sines."""

    segment_len, context = None, None

    def __init__(self, env: str) -> None:
        super().__init__(spaces_of(ENVS.get(env)), width=1)

    def initial_state(self, batch: int) -> Tensor:
        return torch.full((batch,), 0.5, dtype=torch.float64)

    def forward(self, segment: Segment, state: Tensor) -> tuple[Output, Tensor]:
        raise AssertionError("episodes are played by `step`")

    def step(self, x: Inputs, state: Tensor) -> tuple[Output, Tensor]:
        assert not self.training
        seen = sum(leaf.double().reshape(len(state), -1).sum(1) for leaf in tree_leaves(x.observation))
        taken = 0 if x.previous_action is None else x.previous_action.double()
        state = (state * 1.7 + 0.37 * seen + 0.11 * taken + 0.23 * x.return_to_go.double() + 0.05 * x.timestep) % 3.0
        angle = state[:, None] * torch.arange(1, self.head.size + 1)
        return Output(prediction=(2 * torch.sin(angle)).float()), state


def records(env: str, sample: bool) -> list[tuple[int, float, int]]:
    spec, policy = ENVS.get(env), Arithmetic(env)
    config = EvalConfig(episodes=9, batch=4, sample=sample, seed=2, max_steps=15)
    evaluator = Evaluator(spec=spec, config=config, return_scale=2.0)
    found = evaluator.run(policy, spec.case(**CASES[env]), checkpoint="last", step=0).records
    return [(record.seed, record.episode_return, record.length) for record in found]


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


@pytest.mark.parametrize("sample", [False, True], ids=["greedy", "sampled"])
@pytest.mark.parametrize("env", CASES)
def test_records_are_what_they_were(env: str, sample: bool) -> None:
    lengths, whole = EXPECTED[env, sample]
    found = records(env, sample)
    assert [length for _, _, length in found] == lengths
    assert digest(found) == whole


def test_the_mode_and_the_random_state_of_the_caller_stay() -> None:
    policy = Arithmetic("aar").train()
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    with pytest.raises(ZeroDivisionError), acting(policy, seed=1):
        assert not policy.training
        torch.rand(3)
        raise ZeroDivisionError
    assert policy.training and torch.equal(torch.random.get_rng_state(), before)


def test_who_watches_sees_every_step_of_every_episode() -> None:
    spec, seen = ENVS.get("aar"), np.zeros(9)
    env, seeds = spec.make_batch(length=12), np.arange(9)
    actor = Actor(Arithmetic("aar"), target_return=1.0)
    lengths = np.zeros(9, int)

    def watch(at: LockStep) -> None:
        assert actor.cohort is not None and actor.cohort.episodes.tolist() == seeds[at.rows].tolist()
        seen[at.rows[at.alive]] += at.reward[at.alive]
        lengths[at.rows] = np.where(at.alive, at.number, lengths[at.rows])

    found = rollout(actor, env, seeds, 15, watch)
    assert seen.tolist() == found.returns.tolist() and lengths.tolist() == found.lengths.tolist()
    assert len(set(lengths.tolist())) > 1
