"""What every intervention promises for every model: without strength it changes nothing, in full nothing is left."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rate.errors import ConfigError
from rate.models import MODELS, SequencePolicy
from rate.models.acting import INTERVENTIONS, read_intervention
from rate.models.actor import Actor
from rate.models.interventions import Noise, intervene
from rate.models.policies.segment import SegmentPolicy
from rate.types import Array, Spaces

torch.set_num_threads(1)

K, BATCH, STEPS = 3, 3, 11
SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(3), oracle=gym.spaces.Discrete(2))
SMALL = {"layers": 2, "width": 16, "heads": 2, "head_width": 8, "feed_forward": 8, "segment_len": K, "conv_width": 8}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in MODELS.names()},
    "rate-cache": ("rate", {"memory_tokens": 2, "cache_tokens": 7}),
    "rate-lstm": ("rate", {"memory_tokens": 2, "valve": "lstm"}),
}


def build(variant: str) -> SequencePolicy[Any]:
    name, changes = VARIANTS[variant]
    preset = MODELS.get(name)(9)
    known = {item.name for item in fields(preset)}
    torch.manual_seed(0)
    sizes = {key: value for key, value in SMALL.items() if key in known}
    return replace(preset, **{**sizes, **changes}).build(SPACES).eval()


def applies(name: str, policy: SequencePolicy[Any]) -> bool:
    """Whether it can be used on the policy; where not, one line says so."""
    try:
        read_intervention(name)[1].check(policy)
    except ConfigError as reason:
        assert "\n" not in str(reason)
        return False
    return True


def predictions(policy: SequencePolicy[Any], names: list[str], first: Array) -> Array:
    """Of every step, with these observations in the first segment and others, always the same, behind it."""
    actor, seen = Actor(policy, target_return=1.0), []
    policy_step = policy.step

    def step(x: Any, state: Any) -> Any:
        output, state = policy_step(x, state)
        seen.append(output.prediction.numpy())
        return output, state

    later = np.random.default_rng(1).uniform(-1, 1, (STEPS - K, BATCH, 2)).astype(np.float32)
    actor.reset(oracle=np.zeros(BATCH, int))
    policy.step = step  # type: ignore[method-assign]
    with intervene(actor, *names):
        for observation in np.concatenate([first, later]):
            actor.act(observation)
            actor.observe(np.zeros(BATCH), np.zeros(BATCH, int))
    policy.step = policy_step  # type: ignore[method-assign]
    return np.stack(seen)


def beginning(seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, (K, BATCH, 2)).astype(np.float32)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", INTERVENTIONS.names())
def test_without_strength_nothing_changes(name: str, variant: str) -> None:
    policy = build(variant)
    if not applies(name, policy):
        assert not isinstance(policy, SegmentPolicy) or 0 in (policy.slots.memory, policy.slots.cache)
        return
    plain = predictions(policy, [], beginning(2))
    assert np.array_equal(plain, predictions(policy, [f"{name}=0"], beginning(2)))
    changed = predictions(policy, [f"{name}=0.5"], beginning(2))
    assert np.array_equal(plain[:K], changed[:K]) and not np.allclose(plain[K:], changed[K:], atol=1e-6)


@pytest.mark.parametrize("variant", [name for name in VARIANTS if isinstance(build(name), SegmentPolicy)])
def test_full_noise_leaves_nothing_of_what_was_carried(variant: str) -> None:
    policy = build(variant)
    noises = [name for name in INTERVENTIONS if issubclass(INTERVENTIONS.get(name), Noise) and applies(name, policy)]  # type: ignore[arg-type]
    assert noises
    one, other = (predictions(policy, noises, beginning(seed)) for seed in (2, 3))
    assert not np.allclose(one[:K], other[:K]) and np.array_equal(one[K:], other[K:])
    kept, kept_too = (predictions(policy, [f"{name}=0.5" for name in noises], beginning(seed)) for seed in (2, 3))
    assert not np.array_equal(kept[K:], kept_too[K:])
