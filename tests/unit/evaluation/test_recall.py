"""Recall: a policy that remembers gives 2, one that does not gives at most 1, whichever action it prefers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from rate.envs import ENVS
from rate.envs.spec import EnvSpec, spaces_of
from rate.errors import ConfigError, DataError
from rate.evaluation.recall import Recall, demonstrations, has_recall, recall
from rate.models import MODELS
from rate.models.policy import SequencePolicy
from rate.nn.heads import build_head
from rate.seeding import Purpose, episode_seeds
from rate.types import Inputs, Output, Segment

SURE = 20.0
"""A logit that leaves the others nothing."""


class Scripted(SequencePolicy[Tensor]):
    """Notes what it was given; the state of each episode is the cue as far as it was seen, else -1."""

    segment_len, context = None, None

    def __init__(self, env: str) -> None:
        super().__init__(spaces_of(ENVS.get(env)), width=1)
        self.given: list[Inputs] = []

    def initial_state(self, batch: int) -> Tensor:
        return torch.full((batch,), -1)

    def forward(self, segment: Segment, state: Tensor) -> tuple[Output, Tensor]:
        raise AssertionError("recall is measured by `step`")

    def step(self, x: Inputs, state: Tensor) -> tuple[Output, Tensor]:
        assert not self.training
        self.given.append(x)
        state = self.look(x, state)
        return Output(prediction=self.answer(state)), state

    def look(self, x: Inputs, state: Tensor) -> Tensor:
        return state

    def answer(self, state: Tensor) -> Tensor:
        raise NotImplementedError


class Biased(Scripted):
    """Prefers one action by a fixed probability, and remembers nothing."""

    def __init__(self, env: str, *probabilities: float) -> None:
        super().__init__(env)
        self.logits = torch.tensor(probabilities).log()

    def answer(self, state: Tensor) -> Tensor:
        return self.logits.expand(len(state), -1)


class Remembers(Scripted):
    """Repeats the first action; with `span`, forgets what is that many steps away."""

    def __init__(self, env: str, span: int = 10**6) -> None:
        super().__init__(env)
        self.span = span

    def look(self, x: Inputs, state: Tensor) -> Tensor:
        if x.timestep == 1 and x.previous_action is not None:
            return x.previous_action
        return state if x.timestep < self.span else torch.full_like(state, -1)

    def answer(self, state: Tensor) -> Tensor:
        known = SURE * torch.nn.functional.one_hot(state.clamp(min=0), 3)
        return torch.where(state[:, None] >= 0, known, torch.tensor([SURE, SURE, 0.0]))


class Turns(Scripted):
    """Remembers the clue of T-Maze: 1 is up, 3 is down."""

    def look(self, x: Inputs, state: Tensor) -> Tensor:
        return torch.where(x.observation[:, 1] > 0, 1, 3) if x.timestep == 0 else state

    def answer(self, state: Tensor) -> Tensor:
        return SURE * torch.nn.functional.one_hot(state, 4)


def measure(policy: SequencePolicy[Any], env: str, length: int, episodes: int = 10) -> Recall:
    spec = ENVS.get(env)
    return recall(policy, demonstrations(spec, spec.case(length=length), episodes), spec.cue)


def test_memory_is_two() -> None:
    found = measure(Remembers("aar"), "aar", 12)
    assert found.by_cue == pytest.approx({"0": 1.0, "1": 1.0}, abs=1e-6)
    assert found.sum == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("probabilities", [(0.5, 0.5, 0.0), (0.9, 0.1, 0.0), (0.0, 1.0, 0.0), (0.2, 0.3, 0.5)])
def test_no_memory_is_at_most_one(probabilities: tuple[float, ...]) -> None:
    found = measure(Biased("aar", *probabilities), "aar", 12)
    assert [found.by_cue["0"], found.by_cue["1"]] == pytest.approx(probabilities[:2], abs=1e-6)
    assert found.sum == pytest.approx(sum(probabilities[:2]), abs=1e-6) and found.sum <= 1 + 1e-6


@pytest.mark.parametrize(("length", "expected"), [(9, 2.0), (12, 1.0)])
def test_memory_ends_where_the_context_does(length: int, expected: float) -> None:
    assert measure(Remembers("aar", span=10), "aar", length).sum == pytest.approx(expected, abs=1e-4)


def test_other_environments_with_a_cue() -> None:
    assert measure(Turns("tmaze"), "tmaze", 9).by_cue == pytest.approx({"-1": 1.0, "1": 1.0}, abs=1e-6)
    assert measure(Biased("tmaze", 0.0, 0.7, 0.0, 0.3), "tmaze", 9).by_cue == pytest.approx({"-1": 0.3, "1": 0.7})


def test_the_policy_is_led_through_the_demonstrations() -> None:
    policy, spec = Remembers("aar"), ENVS.get("aar")
    items = demonstrations(spec, spec.case(length=5), 4)
    policy.train()
    recall(policy, items, spec.cue, return_scale=2.0)
    assert policy.training, "the mode of the caller is left as it was"
    assert [x.timestep for x in policy.given] == list(range(5))
    assert policy.given[0].previous_action is None
    for t, x in enumerate(policy.given):
        np.testing.assert_array_equal(x.observation, [item.observations[t] for item in items])
        assert x.return_to_go.tolist() == [0.5] * 4
        if x.previous_action is not None:
            assert x.previous_action.tolist() == [item.actions[t - 1] for item in items]


@pytest.mark.parametrize("name", ["rate", "dt", "bc-lstm"])
def test_untrained_models_do_not_remember(name: str) -> None:
    torch.manual_seed(0)
    policy = MODELS.get(name)(9).build(spaces_of(ENVS.get("aar")))
    found = measure(policy, "aar", 9)
    assert 0 < found.sum < 1.2
    assert measure(policy, "aar", 9) == found, "nothing is drawn at random"


@pytest.mark.parametrize(("env", "steps"), [("aar", 20), ("tmaze", 19)])
def test_demonstrations_are_of_the_case_and_of_validation_seeds(env: str, steps: int) -> None:
    spec = ENVS.get(env)
    items = demonstrations(spec, spec.case(length=20), 10, seed=3)
    assert {len(item) for item in items} == {steps}
    assert [item.seed for item in items] == episode_seeds(Purpose.VALIDATION, 3, 10).tolist()
    values, counts = np.unique([item.infos[spec.cue][0] for item in items], return_counts=True)
    assert (len(values), counts.tolist()) == (2, [5, 5])


def test_a_privileged_fact_reaches_the_policy() -> None:
    policy, spec = Turns("tmaze"), ENVS.get("tmaze")
    items = demonstrations(spec, spec.case(length=5), 4)
    recall(policy, items, spec.cue, oracle="clue")
    assert all(x.oracle.tolist() == [item.infos["clue"][0] for item in items] for x in policy.given)


def test_only_where_a_cue_decides_the_last_action() -> None:
    spec = ENVS.get("aar")
    assert has_recall(spec)
    assert not has_recall(replace(spec, cue="")) and not has_recall(replace(spec, expert=None))
    assert not has_recall(replace(spec, make=lambda: gym.make("Pendulum-v1")))


@pytest.mark.parametrize("lengths", [(), (4, 5)])
def test_episodes_must_have_one_length(lengths: tuple[int, ...]) -> None:
    spec: EnvSpec = ENVS.get("aar")
    items = [item for length in lengths for item in demonstrations(spec, spec.case(length=length), 2)]
    with pytest.raises(DataError, match="of one length"):
        recall(Remembers("aar"), items, spec.cue)


def test_log_prob_is_that_of_the_samples() -> None:
    head = build_head(gym.spaces.MultiDiscrete([2, 3]))
    prediction = torch.randn(5, 5)
    pairs = torch.tensor([[a, b] for a in range(2) for b in range(3)])
    every = torch.stack([head.log_prob(prediction, pair.expand(5, 2)) for pair in pairs])
    torch.testing.assert_close(every.exp().sum(0), torch.ones(5))
    expected = prediction[:, 1].sub(prediction[:, :2].logsumexp(1)) + prediction[:, 4].sub(
        prediction[:, 2:].logsumexp(1)
    )
    torch.testing.assert_close(every[5], expected)
    with pytest.raises(ConfigError, match="no probabilities"):
        build_head(gym.spaces.Box(-1, 1, (2,))).log_prob(prediction, prediction)
