"""Memory while a policy plays: what is shown is what the policy carries, and borders are where they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from rate.envs import ENVS
from rate.evaluation.episode import Frame, make_to_watch, play
from rate.evaluation.memory_watch import apart, with_memory
from rate.models import RateConfig
from rate.models.actor import Actor
from rate.types import Spaces

TMAZE = ENVS.get("tmaze")
SEGMENT = 3


def made(**fields: Any) -> tuple[Actor, Iterator[Frame]]:
    """An actor, and its episode of ten steps at most."""
    env = make_to_watch(TMAZE, {"length": 60}, ())
    spaces = Spaces(observation=env.observation_space, action=env.action_space)
    torch.manual_seed(0)
    policy = RateConfig(segment_len=SEGMENT, width=16, layers=1, **fields).build(spaces)
    actor = Actor(policy, target_return=1.0)
    return actor, play(env, actor, 0, 10)


def test_the_memory_that_is_shown_is_the_one_that_is_carried() -> None:
    actor, frames = made(memory_tokens=4)
    shown = list(with_memory(frames, actor))
    again, frames = made(memory_tokens=4)
    for seen, frame in zip(shown, frames, strict=True):
        memory = seen.memory
        assert memory is not None and frame.memory is None and seen.action == frame.action
        carried = again.policy.initial_state(1) if again.cohort is None else again.cohort.state
        np.testing.assert_array_equal(memory.rows, carried.memory[0].detach())
        assert memory.step == (carried.stream.position if carried.stream else 0)


def test_segments_steps_and_borders() -> None:
    actor, frames = made(memory_tokens=4)
    memories = [frame.memory for frame in with_memory(frames, actor)]
    found = [(one.segment, one.step) for one in memories if one]
    assert found == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (4, 1)]
    assert [at for at, one in enumerate(memories) if one and one.at_border] == [4, 7, 10]
    for one, other in itertools.pairwise(memories):
        assert one and other and (one.rows != other.rows).any() == other.at_border


def test_changes_are_relative_to_the_memory_before() -> None:
    actor, frames = made(memory_tokens=4)
    memories = [frame.memory for frame in with_memory(frames, actor)]
    before, after = memories[3], memories[4]
    assert before and after and before.changes == () and not before.row_changes.any()
    norm = np.linalg.norm
    np.testing.assert_allclose(
        after.row_changes, norm(after.rows - before.rows, axis=1) / norm(before.rows, axis=1), rtol=1e-5
    )
    assert after.changes[0] == pytest.approx(norm(after.rows - before.rows) / norm(before.rows), rel=1e-5)
    assert memories[-1] and len(memories[-1].changes) == 3 and memories[-1].changes[:1] == after.changes


def test_a_policy_without_memory_has_none_to_show() -> None:
    actor, frames = made(memory_tokens=0, valve="none", cache_tokens=6)
    assert all(frame.memory is None for frame in with_memory(frames, actor))


@pytest.mark.parametrize("frames", [2, 11])
def test_nothing_watches_on(frames: int) -> None:
    """Neither after the episode nor after it was left."""
    actor, episode = made(memory_tokens=4)
    watched = with_memory(episode, actor)
    for _ in range(frames):
        next(watched)
    watched.close()  # type: ignore[attr-defined]
    assert not any(part._forward_hooks for part in actor.policy.modules())


def test_apart_is_relative_to_the_origin() -> None:
    origin = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert apart(2 * origin, origin).tolist() == [1.0, 1.0]
    assert apart(torch.zeros(2), torch.zeros(2)).item() == 0.0
