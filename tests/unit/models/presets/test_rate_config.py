"""RateConfig refuses what cannot work and says so; presets and the paper's recommendations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest
import torch

from rate.errors import ConfigError, UnknownNameError
from rate.models import MODELS, RateConfig, suggest_config
from rate.models.policies.segment import SegmentPolicy
from rate.models.presets.rate import divisor_below
from rate.types import Segment, Spaces

SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({field: 0}, rf"model\.{field} is 0; it must be at least 1") for field in
          ("segment_len", "layers", "width", "heads", "kv_heads", "head_width", "valve_heads")),
        *(({field: -1}, rf"model\.{field} is -1; it must be finite and not negative") for field in
          ("memory_tokens", "cache_tokens", "valve_feed_forward", "memory_noise")),
        ({"feed_forward": -1}, "model.feed_forward is -1; it must be at least 0"),
        *(({field: value}, rf"model\.{field} is {value}; .*at least 0 and below 1") for field in
          ("dropout", "attention_dropout") for value in (-0.1, 1.0)),
        ({"heads": 4, "kv_heads": 3}, "not a multiple of model.kv_heads = 3"),
        ({"head_width": 7}, "head_width = 7 must be even"),
        ({"memory_tokens": 0, "cache_tokens": 9}, "valve = ca2 needs memory"),
        *(({"width": 64, "valve": valve, "valve_heads": 3}, "not a multiple of model.valve_heads = 3") for valve in
          ("ca1", "ca2")),
        *(({"valve": valve, "valve_feed_forward": 8}, f"valve = {valve} has no FFN") for valve in
          ("gate", "gru", "lstm", "none")),
        ({"valve": "none", "memory_tokens": 0}, "nothing is carried between segments"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RateConfig(**changes)


def test_edges_that_work() -> None:
    RateConfig(segment_len=1, layers=1, heads=1, kv_heads=1, dropout=0.0, memory_tokens=1).build(SPACES)
    RateConfig(valve="none", memory_tokens=0, cache_tokens=1).build(SPACES)
    for valve in ("gate", "gru", "lstm", "none"):  # heads are of no concern to them
        RateConfig(valve=valve, valve_heads=3).build(SPACES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"valve": "ca3"}, "unknown valve 'ca3'; did you mean 'ca1' or 'ca2'"),
        ({"valve_activation": "rellu"}, "unknown activation 'rellu'; did you mean 'relu'"),
    ],
)
def test_unknown_names_come_with_a_suggestion(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        RateConfig(**changes)


def test_windows() -> None:
    RateConfig(segment_len=10).check_window(30)
    with pytest.raises(ConfigError, match="choose a window of 30 steps, or segments of 8"):
        RateConfig(segment_len=10).check_window(32)


@pytest.mark.parametrize(
    ("window", "wanted", "divisor"), [(30, 10, 10), (32, 10, 8), (7, 5, 1), (6, 100, 6), (9, 1, 1)]
)
def test_divisor_below(window: int, wanted: int, divisor: int) -> None:
    assert divisor_below(window, wanted) == divisor


@pytest.mark.parametrize(("horizon", "segment_len"), [(3, 1), (90, 30), (100, 33), (101, 33)])
def test_suggestion_follows_the_paper(horizon: int, segment_len: int) -> None:
    sparse, dense = suggest_config(horizon, dense_reward=False), suggest_config(horizon, dense_reward=True)
    for config in (sparse, dense):
        assert (config.segment_len, config.memory_tokens, config.valve_heads) == (segment_len, 5, 1)
        assert (config.valve, config.valve_activation) == ("ca2", "relu")
        config.check_window(3 * segment_len)
    assert sparse.cache_tokens == 0
    assert dense.cache_tokens == (3 * segment_len + 2 * 5) * 3


def test_no_suggestion_for_episodes_that_cannot_be_cut() -> None:
    with pytest.raises(ConfigError, match="at least 3"):
        suggest_config(2, dense_reward=False)


def test_presets_are_what_their_names_say() -> None:
    rate, rmt, trxl, gtrxl = (MODELS.get(name)(12, width=16) for name in ("rate", "rmt", "trxl", "gtrxl"))
    assert all(isinstance(config, RateConfig) and config.width == 16 for config in (rate, rmt, trxl, gtrxl))
    assert gtrxl == replace(trxl, name="gtrxl", gated=True) and not (rate.gated or rmt.gated or trxl.gated)
    assert (rate.segment_len, rate.valve, rate.memory_tokens, rate.cache_tokens) == (4, "ca2", 5, 0)
    assert (rmt.segment_len, rmt.valve, rmt.memory_tokens, rmt.cache_tokens) == (4, "none", 5, 0)
    assert (trxl.segment_len, trxl.valve, trxl.memory_tokens, trxl.cache_tokens) == (4, "none", 0, 24)
    for config in (rate, rmt, trxl, gtrxl):
        policy = config.build(SPACES)
        assert isinstance(policy, SegmentPolicy)
        assert policy.parameter_count() == sum(parameter.numel() for parameter in policy.parameters())


@pytest.mark.parametrize("name", ["trxl", "gtrxl"])
@pytest.mark.parametrize("window", [30, 12, 7])
@pytest.mark.parametrize("fields", [{}, {"return_to_go": False}, {"segment_len": 1, "previous_action": False}])
def test_the_cache_is_full_in_the_last_segment_of_a_window_and_not_before(
    name: str, window: int, fields: dict[str, Any]
) -> None:
    policy = MODELS.get(name)(window, width=8, layers=1, heads=1, head_width=8, **fields).build(SPACES)
    assert isinstance(policy, SegmentPolicy)
    state, found = policy.initial_state(1), list[bool]()
    for segment in zero_window(window).split(policy.segment_len):
        found.append(state.cached == policy.slots.cache)
        _, state = policy(segment, state)
    assert found == [False] * (len(found) - 1) + [True]


def zero_window(steps: int) -> Segment:
    number, yes = torch.zeros(1, steps), torch.ones(1, steps, dtype=torch.bool)
    return Segment(
        observation=torch.zeros(1, steps, 2),
        action=number.long(),
        return_to_go=number,
        reward=number,
        terminated=~yes,
        timestep=torch.arange(steps)[None],
        mask=yes,
    )
