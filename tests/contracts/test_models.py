"""What every registered model promises: acting equals training, no look ahead, no leak, padding that is not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from rate.errors import ConfigError
from rate.models import MODELS, ModelConfig, RateConfig, unroll
from rate.nn.encoders import EncoderConfig
from rate.nn.tokens import Tokens
from rate.testing import SPACES, build
from rate.testing.models import EVERYWHERE, ONCE
from rate.testing.windows import (
    BATCH,
    LENGTH,
    WINDOW,
    K,
    Policy,
    acted,
    changed,
    close,
    gradients,
    longest,
    loss_of,
    make_window,
    predict,
    repeated,
)
from rate.types import Spaces

SMALL = {"layers": 2, "width": 16, "heads": 4, "head_width": 8, "memory_tokens": 2, "feed_forward": 24, "conv_width": 8}
FIXED = {"rate": {"feed_forward": 0}, "trxl": {"memory_tokens": 0}, "gtrxl": {"memory_tokens": 0}}
"""Sizes that make a model what it is."""

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in MODELS.names()},
    "rate-short-cache": ("rate", {"cache_tokens": 7}),
    "rate-long-cache": ("rate", {"cache_tokens": 20}),
    "rate-grouped-heads": ("rate", {"kv_heads": 2, "valve_heads": 2, "cache_tokens": 13, "feed_forward": 24}),
    "rate-one-step": ("rate", {"segment_len": 1, "cache_tokens": 8}),
    "rmt-cache": ("rmt", {"cache_tokens": 10}),
    "rmt-all-heads": ("rmt", {"kv_heads": 4}),
    "trxl-short-cache": ("trxl", {"cache_tokens": 5}),
    # ca1 mixes its rows until they are alike and nothing more can be written: without a cache, borders would be walls.
    "rate-ca1": ("rate", {"valve": "ca1", "valve_heads": 2, "cache_tokens": 13}),
    "rate-ca2-feed-forward": ("rate", {"valve_feed_forward": 12}),
    "rate-gate": ("rate", {"valve": "gate"}),
    "rate-gru": ("rate", {"valve": "gru"}),
    "rate-lstm": ("rate", {"valve": "lstm"}),
    "rate-lstm-cache-one-step": ("rate", {"valve": "lstm", "segment_len": 1, "cache_tokens": 7}),
    "gtrxl-short-cache": ("gtrxl", {"cache_tokens": 5}),
    "rate-gated": ("rate", {"gated": True, "feed_forward": 0}),
    "rate-no-returns": ("rate", {"return_to_go": False, "valve_bias": 4.0, "timesteps": K + 1, "cache_tokens": 7}),
    "rate-observations": (
        "rate",
        {"return_to_go": False, "previous_action": False, "clock": "sinusoidal", "timesteps": 9},
    ),
    "trxl-no-actions": ("trxl", {"previous_action": False}),
    "dt-no-returns": ("dt", {"context": K, "return_to_go": False}),
    "oracle-dt-no-actions": ("oracle-dt", {"context": K, "previous_action": False}),
    "dmamba-clock": ("dmamba", {"return_to_go": False, "clock": "sinusoidal", "timesteps": K}),
    "dt-short": ("dt", {"context": K}),
    "dt-one-step": ("dt", {"context": 1, "feed_forward": 0}),
    "dt-timesteps": ("dt", {"context": K, "timesteps": K + 1, "kv_heads": 4}),
    "oracle-dt-short": ("oracle-dt", {"context": K, "timesteps": 2 * K}),
    "lsdt-short": ("lsdt", {"context": K, "kernel": 3 * K + 4}),
    "lsdt-one-step": ("lsdt", {"context": 1, "kernel": 2}),
    "lsdt-timesteps": ("lsdt", {"context": K, "timesteps": K + 1}),
}

ENCODED: dict[str, tuple[str, dict[str, Any]]] = {
    "rate-deep": ("rate", {"cache_tokens": 7, "encoder": EncoderConfig(name="image-deep", channels=(4, 8))}),
}
"""With an encoder that is not the default."""

IMAGES: dict[str, Spaces] = {
    "grid": Spaces(observation=gs.Box(0, 255, (7, 7, 3), np.uint8), action=gs.Discrete(3)),
    "floats": Spaces(observation=gs.Box(0, 1, (3, 16, 16)), action=gs.Box(-1, 1, (2,))),
    "frames": Spaces(
        observation=gs.Dict(eye=gs.Box(0, 255, (2, 40, 36, 3), np.uint8), card=gs.Discrete(3)), action=gs.Discrete(3)
    ),
}
"""Three sizes, channels first and last."""


def config_of(variant: str) -> ModelConfig:
    """The preset, made small in the fields that its configuration has."""
    name, changes = {**VARIANTS, **ENCODED}[variant]
    preset = MODELS.get(name)(WINDOW)
    known = {item.name for item in fields(preset)}
    wanted = {**{key: SMALL[key] for key in SMALL if key in known}, **FIXED.get(name, {}), **changes}
    return replace(preset, **wanted)


@pytest.fixture(params=list(VARIANTS))
def config(request: pytest.FixtureRequest) -> ModelConfig:
    return config_of(request.param)


@pytest.fixture(params=[name for name in VARIANTS if getattr(config_of(name), "memory_tokens", 0)])
def memory_config(request: pytest.FixtureRequest) -> ModelConfig:
    return config_of(request.param)


CASES = [
    (variant, space) for variant in VARIANTS for space in SPACES if variant in MODELS or space in ("vector", "tree")
]
"""Every model with every space; variants of the mechanism with two of them."""
CASES += [("rate-deep", space) for space in IMAGES]
CASES += [("rate", "grid"), ("dt", "floats"), ("bc-lstm", "frames")]


@pytest.fixture(params=CASES, ids="-".join)
def policy(request: pytest.FixtureRequest) -> Policy:
    variant, space = request.param
    return build(config_of(variant), {**SPACES, **IMAGES}[space])


@pytest.fixture
def spaces(policy: Policy) -> Spaces:
    return policy.spaces


@pytest.fixture(params=[variant for variant in VARIANTS if build(config_of(variant), SPACES["vector"]).context])
def window_policy(request: pytest.FixtureRequest) -> Policy:
    return build(config_of(request.param), SPACES["tree"])


@pytest.fixture
def plain(config: ModelConfig) -> Policy:
    return build(config, SPACES["vector"])


Contract = Callable[[Policy], None]


@pytest.mark.parametrize("contract", EVERYWHERE, ids=lambda contract: contract.__name__)
def test_contract_with_every_space(contract: Contract, policy: Policy) -> None:
    contract(policy)


@pytest.mark.parametrize("contract", ONCE, ids=lambda contract: contract.__name__)
def test_contract_of_the_mechanism(contract: Contract, plain: Policy) -> None:
    contract(plain)


# Acting equals training.


def test_a_policy_that_is_cut_anew_is_the_one_that_is_built_so(memory_config: RateConfig) -> None:
    spaces = SPACES["vector"]
    policy, built = (build(replace(memory_config, segment_len=length), spaces) for length in (K, K + 2))
    built.load_state_dict(policy.state_dict())
    window = make_window(spaces, LENGTH)
    policy.resegment(K + 2)
    assert torch.equal(predict(policy, window), predict(built, window))
    assert torch.equal(acted(policy, window), acted(built, window))


@pytest.mark.parametrize(("own", "other"), [(0, 4), (4, 0), (4, 60)])
def test_a_policy_with_another_cache_is_the_one_that_is_built_so(
    own: int, other: int, memory_config: RateConfig
) -> None:
    spaces = SPACES["vector"]
    policy, built = (build(replace(memory_config, cache_tokens=tokens), spaces) for tokens in (own, other))
    built.load_state_dict(policy.state_dict())
    window = make_window(spaces, LENGTH)
    before = predict(policy, window)
    with policy.segments_of(None, other):
        assert torch.equal(predict(policy, window), predict(built, window))
        assert torch.equal(acted(policy, window), acted(built, window))
        assert not torch.allclose(predict(policy, window), before)
    assert torch.equal(predict(policy, window), before)


def test_a_model_without_segments_is_not_cut() -> None:
    with pytest.raises(ConfigError, match="no segments"):
        build(MODELS.get("dt")(K), SPACES["vector"]).resegment(3)


def test_step_sees_nothing_that_left_the_window(window_policy: Policy) -> None:
    policy, spaces = window_policy, window_policy.spaces
    assert policy.context
    steps = 3 * policy.context + 2
    window = make_window(spaces, steps)
    # The newest step that is outside of the last window: all of it, its action too, must be gone.
    left = (torch.arange(steps) < steps - policy.context).expand(BATCH, -1)
    moved = changed(window, spaces, observation=left, action=left, return_to_go=left)
    seen, again = acted(policy, window), acted(policy, moved)
    assert torch.equal(seen[:, -1], again[:, -1])
    assert not torch.equal(seen[:, -2], again[:, -2])


# Causality, rows, padding.


def test_every_token_is_read(policy: Policy, spaces: Spaces) -> None:
    """Return and observation count at once, the action from the next step on."""
    tokens = policy.tokens
    assert isinstance(tokens, Tokens)
    steps = longest(policy)
    window, here = repeated(spaces, steps), torch.eye(steps).bool()
    before = predict(policy, window)
    for part, lag, message in (("return_to_go", 0, tokens.returns), ("action", 1, tokens.actions)):
        difference = (predict(policy, changed(window, spaces, **{part: here})) - before).abs().amax(2)
        if message is None:
            assert not difference.any()
            continue
        assert (difference.diagonal(lag) > 1e-5).all()
        assert (difference[torch.ones_like(difference).tril(lag - 1).bool()] < 1e-6).all()


def test_memory_reaches_every_later_step(memory_config: RateConfig) -> None:
    policy = build(memory_config, SPACES["vector"])
    window, here = repeated(SPACES["vector"], LENGTH), torch.eye(LENGTH).bool()
    config = policy.tokens.config
    parts = {"return_to_go": (0, config.returns), "observation": (0, True), "action": (1, config.actions)}
    for part, (lag, given) in parts.items():
        if not given:
            continue
        moved = changed(window, SPACES["vector"], **{part: here})
        difference = (predict(policy, moved) - predict(policy, window)).abs().amax(2)
        assert (difference[torch.ones_like(difference).triu(lag).bool()] > 0).all()


# Training.


def test_gradients_cross_segments_as_far_as_they_may(memory_config: RateConfig) -> None:
    spaces = SPACES["vector"]
    policy, length = build(memory_config, spaces), memory_config.segment_len
    window = make_window(spaces, 4 * length)

    def reach(bptt_segments: int | None) -> list[bool]:
        """Whether the loss of the last of four segments reaches the observations of each."""
        seen = replace(window, observation=window.observation.clone().requires_grad_())
        losses = policy.head.loss(unroll(policy, seen, bptt_segments).prediction, seen.action)
        (gradient,) = torch.autograd.grad(losses[:, -length:].sum(), seen.observation)
        return [bool(part.abs().max() > 0) for part in gradient.split(length, 1)]

    assert reach(None) == [True] * 4
    assert reach(4) == [True] * 4
    assert reach(3) == [False, False, False, True]
    assert reach(2) == [False, False, True, True]
    assert reach(1) == [False, False, False, True]


def test_the_valve_learns_only_across_segments(memory_config: RateConfig) -> None:
    policy = build(memory_config, SPACES["vector"])
    window = make_window(SPACES["vector"], LENGTH)
    for bptt_segments in (None, 2, 1):
        loss = loss_of(policy, unroll(policy, window, bptt_segments).prediction, window)
        learning = {name: bool((g is not None) and g.any()) for name, g in gradients(policy, loss).items()}
        valve = [learns for name, learns in learning.items() if name.startswith("valve.")]
        assert bool(valve) is (memory_config.valve != "none")
        assert all(learns is (bptt_segments != 1) for learns in valve)


# State.


def test_state_dict_round_trip(config: ModelConfig) -> None:
    policy, twin = build(config, SPACES["tree"]), build(config, SPACES["tree"], seed=1)
    window = make_window(policy.spaces, longest(policy))
    assert not torch.equal(predict(twin, window), predict(policy, window))
    twin.load_state_dict(policy.state_dict())
    assert torch.equal(predict(twin, window), predict(policy, window))
    assert torch.equal(acted(twin, window), acted(policy, window))


def test_presets_fit_their_window(config: ModelConfig) -> None:
    preset = MODELS.get(config.name)(WINDOW)
    preset.check_window(WINDOW)
    assert preset.name == config.name


@pytest.mark.parametrize("cached_segments", [4, 6])
def test_a_cache_that_holds_all_is_one_pass(cached_segments: int) -> None:
    spaces = SPACES["vector"]
    base = config_of("trxl")
    pieces = build(replace(base, segment_len=K, cache_tokens=3 * K * cached_segments), spaces)
    whole = build(replace(base, segment_len=LENGTH, cache_tokens=3), spaces, seed=1)
    whole.load_state_dict(pieces.state_dict())
    window = make_window(spaces, LENGTH)
    close(predict(pieces, window), predict(whole, window))
    close(acted(pieces, window), predict(whole, window))
