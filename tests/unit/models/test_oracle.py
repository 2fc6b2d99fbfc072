"""OracleDT is told a fact of the episode: it must be given, it counts at every step, and it never leaves the window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from rate.envs.tmaze_env import TMazeEnv
from rate.errors import ConfigError
from rate.models import MODELS
from rate.models.actor import Actor
from rate.models.policies.context import ContextPolicy
from rate.types import Segment, Spaces, tree_map

CONTEXT, BATCH = 3, 2
PLAIN = Spaces(observation=gym.spaces.Box(-1, 1, (4,)), action=gym.spaces.Discrete(4))
TOLD = replace(PLAIN, oracle=gym.spaces.Box(-1, 1, ()))
SIZES = {"layers": 2, "width": 16, "heads": 2, "head_width": 8}


def build(name: str = "oracle-dt", spaces: Spaces = TOLD) -> ContextPolicy:
    torch.manual_seed(0)
    policy = MODELS.get(name)(CONTEXT, **SIZES).build(spaces).eval()
    assert isinstance(policy, ContextPolicy)
    return policy


def episode(steps: int, fact: float | None) -> Segment:
    rng = torch.Generator().manual_seed(0)
    return Segment(
        observation=torch.randn(BATCH, steps, 4, generator=rng),
        action=torch.randint(0, 4, (BATCH, steps), generator=rng),
        return_to_go=torch.ones(BATCH, steps),
        reward=torch.zeros(BATCH, steps),
        terminated=torch.zeros(BATCH, steps, dtype=torch.bool),
        timestep=torch.arange(steps).repeat(BATCH, 1),
        mask=torch.ones(BATCH, steps, dtype=torch.bool),
        oracle=None if fact is None else torch.full((BATCH, steps), fact),
    )


def acted(policy: ContextPolicy, window: Segment) -> Tensor:
    state, predictions = policy.initial_state(BATCH), []
    for t in range(len(window)):
        output, state = policy.step(window.at(t), state)
        predictions.append(output.prediction)
    return torch.stack(predictions, 1)


def test_an_oracle_must_be_declared() -> None:
    with pytest.raises(ConfigError, match=r"oracle-dt is told a privileged fact of each episode; set data\.oracle"):
        MODELS.get("oracle-dt")(CONTEXT).build(PLAIN)


def test_the_fact_counts_at_every_step_also_when_the_window_has_slid() -> None:
    policy, steps = build(), 3 * CONTEXT
    one, other = (acted(policy, episode(steps, fact)) for fact in (-1.0, 1.0))
    assert ((one - other).abs().amax(2) > 1e-4).all()


def test_the_fact_is_one_token_more() -> None:
    """Slot 0 holds it, whatever the window: acting past the window equals a fresh run over the last steps."""
    policy = build()
    whole = episode(2 * CONTEXT + 1, 1.0)
    last: Segment = tree_map(lambda leaf: leaf[:, -CONTEXT:], whole)
    with torch.no_grad():
        expected = policy(last, policy.initial_state(BATCH))[0].prediction[:, -1]
    torch.testing.assert_close(acted(policy, whole)[:, -1], expected, atol=1e-6, rtol=1e-6)


def test_the_copy_behind_changes_nothing() -> None:
    """The causal mask hides it from every action, so acting may leave it out."""
    policy, window = build(), episode(CONTEXT, 1.0)
    assert policy.oracle is not None
    with torch.no_grad():
        prediction = policy(window, policy.initial_state(BATCH))[0].prediction
        sequence = torch.cat([policy.oracle(window.oracle[:, 0])[:, None], policy.tokens(window)], 1)
        observed = torch.arange(2, sequence.shape[1], 3)
        without = policy.readout(policy.backbone(sequence, observed))
    torch.testing.assert_close(prediction, without, atol=1e-6, rtol=1e-6)


def test_dt_is_not_told() -> None:
    policy = build("dt")
    assert policy.oracle is None
    one, other = (acted(policy, episode(CONTEXT, fact)) for fact in (None, 1.0))
    assert torch.equal(one, other)


def test_an_actor_must_be_told() -> None:
    actor = Actor(build(), target_return=1.0)
    env = TMazeEnv(length=9)
    observation, info = env.reset(seed=0)
    with pytest.raises(ConfigError, match="oracle"):
        actor.reset()
    actor.reset(oracle=np.asarray(info["clue"], np.float32))
    assert env.action_space.contains(actor.act(observation))


def told_actor(size: int) -> Actor:
    spaces = Spaces(
        observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(2), oracle=gym.spaces.Discrete(5)
    )
    torch.manual_seed(0)
    actor = Actor(MODELS.get("oracle-dt")(3, layers=1, width=8).build(spaces), target_return=1.0)
    actor.reset(oracle=np.arange(size) % 5)
    actor.act(np.zeros((size, 2), np.float32))
    return actor


def test_facts_go_to_the_rows_that_they_were_given_for() -> None:
    actor = told_actor(4)
    actor.reset([3, 1], oracle=[4, 2])
    assert actor._oracle.tolist() == [0, 2, 2, 4]
    actor.reset([True, False, False, True], oracle=np.array([1, 0, 0, 3]))  # one for each row of the batch
    assert actor._oracle.tolist() == [1, 2, 2, 3]
    actor.act(np.zeros((4, 2), np.float32))


def test_facts_are_copied() -> None:
    facts = np.array([0, 1, 2])
    actor = told_actor(3)
    actor.reset(oracle=facts)
    actor.act(np.zeros((3, 2), np.float32))
    actor.reset([0], oracle=[4])
    assert facts.tolist() == [0, 1, 2]
    facts[:] = 3
    assert actor._oracle.tolist() == [4, 1, 2]


@pytest.mark.parametrize("facts", [[1, 2, 3], [7], ["up"], [[1]], None])
def test_facts_that_do_not_fit_are_refused(facts: Any) -> None:
    actor = told_actor(4)
    with pytest.raises(ConfigError):
        actor.reset([2], oracle=facts)
    actor.act(np.zeros((4, 2), np.float32))  # nothing was lost
