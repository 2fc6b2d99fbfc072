"""Interventions: what is mixed in, when, for whom, and that nothing is left behind."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rate.errors import ConfigError, UnknownNameError
from rate.models import MODELS, SequencePolicy
from rate.models.acting import INTERVENTIONS, read_intervention
from rate.models.actor import Actor
from rate.models.interventions import Intervention, Moment, Recorder, intervene
from rate.models.policies.segment import SegmentPolicy
from rate.types import Spaces, tree_leaves

torch.set_num_threads(1)

K, M, WIDTH = 3, 2, 16
SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(3))
SIZES = {"layers": 2, "width": WIDTH, "heads": 2, "head_width": 8, "memory_tokens": M, "segment_len": K}


def make(**fields: Any) -> SegmentPolicy:
    torch.manual_seed(0)
    policy = MODELS.get("rate")(9, **{**SIZES, **fields}).build(SPACES).eval()
    assert isinstance(policy, SegmentPolicy)
    return policy


def act(policy: SequencePolicy[Any], *what: Intervention | str, rows: tuple[int, ...] = (7, 8, 9), steps: int = 3 * K):
    """The memory of each episode after every segment."""
    actor, watch = Actor(policy, target_return=1.0), Recorder()
    actor.reset(episodes=rows)
    with intervene(actor, *what, watch, seed=4):
        for step in range(steps + 1):
            rng = [np.random.default_rng([step, row]) for row in rows]
            actor.act(np.stack([one.uniform(-1, 1, 2).astype(np.float32) for one in rng]))
            actor.observe(np.zeros(len(rows)))
    return [one.value for one in watch.of("memory")]


def noise(episodes: tuple[int, ...], timestep: int) -> torch.Tensor:
    moment = Moment(episodes=np.array(episodes), timestep=timestep, seed=4)
    return moment.noise(torch.zeros(len(episodes), M, WIDTH), "memory")


def test_memory_is_mixed_with_noise() -> None:
    plain, mixed, full = (act(make(), f"memory-noise={a}") for a in (0, 0.25, 1))
    assert all(map(torch.equal, plain, act(make())))
    torch.testing.assert_close(mixed[0], 0.75 * plain[0] + 0.25 * noise((7, 8, 9), K))
    assert [torch.equal(full[at], noise((7, 8, 9), (at + 1) * K)) for at in range(3)] == [True] * 3


def test_noise_is_standard_normal_and_of_the_episode_not_of_the_batch() -> None:
    drawn = torch.cat([noise((episode, episode + 1), step) for episode in range(20) for step in range(5)])
    assert abs(drawn.mean()) < 0.05 and abs(drawn.std() - 1) < 0.05
    assert torch.equal(noise((3, 5), 6)[1], noise((5,), 6)[0])
    different = noise((3,), 6), noise((4,), 6), noise((3,), 9)
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(different, 2))
    together, alone = act(make(), "memory-noise=0.5"), act(make(), "memory-noise=0.5", rows=(8,))
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one[1:2], other)


def test_a_swap_happens_once_and_takes_the_row_before() -> None:
    plain, swapped, half = (act(make(), *what) for what in ((), ("memory-swap",), ("memory-swap=0.5",)))
    assert torch.equal(swapped[0], plain[0].roll(1, 0))
    torch.testing.assert_close(half[0], 0.5 * plain[0] + 0.5 * plain[0].roll(1, 0))
    assert not torch.equal(swapped[1], plain[1]) and not torch.equal(swapped[1], plain[1].roll(1, 0))
    one = INTERVENTIONS.get("memory-swap")(1.0)
    with pytest.raises(ConfigError, match="at least two"):
        act(make(), one, rows=(7,))
    act(make(), one)
    assert torch.equal(act(make(), one, rows=(7,))[0], plain[0][1:2])


def test_what_a_valve_carries_besides_is_memory_too() -> None:
    policy, seen = make(valve="lstm"), []
    actor = Actor(policy, target_return=1.0)
    with intervene(actor, "memory-noise=1"):
        policy.carry.register_forward_hook(lambda place, given, carried: seen.append(carried))
        for _ in range(K + 1):
            actor.act(np.zeros((3, 2), np.float32))
    assert not torch.equal(seen[0].cell, seen[0].memory) and abs(seen[0].cell.std() - 1) < 0.2


def test_the_cache_is_mixed_in_every_layer() -> None:
    policy, seen = make(cache_tokens=5), []
    actor = Actor(policy, target_return=1.0)
    with intervene(actor, "cache-noise=1"):
        policy.carry.register_forward_hook(lambda place, given, carried: seen.append((given[0], carried)))
        for _ in range(K + 1):
            actor.act(np.zeros((3, 2), np.float32))
    (given, carried) = seen[0]
    assert given.memory is carried.memory and len(carried.cache) == 2
    for before, after in zip(given.cache, carried.cache, strict=True):
        assert before.shape == after.shape == (3, 5, WIDTH) and abs(after.std() - 1) < 0.2
        assert not torch.equal(before, after)
    assert not torch.equal(*carried.cache)


def test_hooks_are_gone_afterwards_and_after_an_error() -> None:
    policy = make()
    actor = Actor(policy, target_return=1.0)
    with pytest.raises(ZeroDivisionError), intervene(actor, "memory-noise", Recorder(attention=True)):
        raise ZeroDivisionError
    assert not any(part._forward_hooks for part in policy.modules())


def test_attention_and_memory_are_recorded() -> None:
    policy = make(cache_tokens=5)
    actor, watch = Actor(policy, target_return=1.0), Recorder(attention=True)
    with intervene(actor, watch):
        for _ in range(K + 1):
            actor.act(np.zeros((2, 2), np.float32))
    places = {one.where for one in watch.seen}
    assert places == {"memory", "transformer.layers.0.attention", "transformer.layers.1.attention"}
    assert [one.at.timestep for one in watch.of("memory")] == [K]
    weights = [one.value for one in watch.of("transformer.layers.1.attention")]
    # Step 1: memory, R, o. Steps 2 and 3: the action before, R, o. Then the last action and what is written.
    assert [tuple(one.shape[1:3]) for one in weights] == [(2, M + 2), (2, 3), (2, 3), (2, 1 + M), (2, M + 2)]
    assert all(torch.allclose(one.sum(-1), torch.ones(())) for one in weights)
    plain, recorded = (Actor(make(cache_tokens=5), target_return=1.0) for _ in range(2))
    with intervene(recorded, Recorder(attention=True)):
        for _ in range(2 * K):
            plain.act(np.ones((2, 2), np.float32)), recorded.act(np.ones((2, 2), np.float32))
    for one, other in zip(tree_leaves(plain._cohorts[0].state), tree_leaves(recorded._cohorts[0].state), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory-noise=2", "between 0 and 1"),
        ("memory-noise=nan", "must be a number"),
        ("memory-noise=much", "must be a number"),
        ("memory-nois", "did you mean 'memory-noise'"),
    ],
)
def test_what_cannot_be_is_said(text: str, said: str) -> None:
    with pytest.raises((ConfigError, UnknownNameError), match=said):
        read_intervention(text)


def test_names_are_written_in_one_way() -> None:
    names = [read_intervention(text)[0] for text in ("memory-noise", "memory-noise=1.0", "memory-noise=1e0")]
    assert set(names) == {"memory-noise=1"}
    assert read_intervention("cache-noise=0.10")[0] == "cache-noise=0.1"
