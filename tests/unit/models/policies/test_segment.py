"""Segment recurrence against a plain statement of it: one row, one head, one pair of slots at a time."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import gymnasium as gym
import pytest
import torch
from torch import Tensor

from rate.models import RateConfig, unroll
from rate.models.policies.segment import SegmentPolicy, Slots
from rate.nn.noise import MemoryNoise
from rate.nn.transformer import TransformerConfig
from rate.nn.valves import ValveConfig
from rate.types import Segment, Spaces

SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (4,)), action=gym.spaces.Discrete(3))
K, LENGTH = 3, 14
CONFIGS: dict[str, dict[str, Any]] = {
    "rate": {},
    "rate-short-cache": {"cache_tokens": 5},
    "rate-long-cache": {"cache_tokens": 31, "valve_heads": 2, "feed_forward": 24},
    "rate-grouped": {"cache_tokens": 13, "kv_heads": 2},
    "rmt": {"valve": "none", "feed_forward": 24},
    "rmt-cache": {"valve": "none", "cache_tokens": 14, "kv_heads": 4},
    "trxl": {"valve": "none", "memory_tokens": 0, "cache_tokens": 27},
    "trxl-short-cache": {"valve": "none", "memory_tokens": 0, "cache_tokens": 4},
    "gtrxl": {"valve": "none", "memory_tokens": 0, "cache_tokens": 9, "gated": True, "feed_forward": 24},
    "rate-gated": {"gated": True},
    "rate-lstm": {"valve": "lstm"},
}


def make(**changes: Any) -> SegmentPolicy:
    torch.manual_seed(0)
    sizes = {"segment_len": K, "memory_tokens": 2, "layers": 2, "width": 16, "heads": 4, "head_width": 8}
    policy = RateConfig(**{**sizes, **changes}).build(SPACES).eval()
    assert isinstance(policy, SegmentPolicy)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter)) if parameter.dim() == 1 else parameter.mul_(1.5)
    return policy


def make_window(length: int = LENGTH, batch: int = 2) -> Segment:
    torch.manual_seed(1)
    return Segment(
        observation=torch.randn(batch, length, 4),
        action=torch.randint(0, 3, (batch, length)),
        return_to_go=torch.randn(batch, length),
        reward=torch.zeros(batch, length),
        terminated=torch.zeros(batch, length, dtype=torch.bool),
        timestep=torch.arange(length).repeat(batch, 1),
        mask=torch.ones(batch, length, dtype=torch.bool),
    )


def looks(kind: str, i: int, other: str, j: int) -> bool:
    """Who may look at whom: slot i of a kind, at slot j of another (a cached slot is of the kind `cache`)."""
    if kind == "read":
        return other == "read"
    if kind == "token":
        return other in ("cache", "read") or (other == "token" and j <= i)
    return other != "cache"  # the memory that is written looks at its whole segment


@pytest.mark.parametrize("cache", [0, 1, 5])
@pytest.mark.parametrize("memory", [0, 1, 3])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_visible_follows_the_rules(cache: int, memory: int, steps: int) -> None:
    slots = Slots(cache=cache, memory=memory, steps=steps)
    kinds = ["cache"] * cache + ["read"] * memory + ["token"] * 3 * steps + ["write"] * memory
    visible = slots.visible()
    assert visible.shape == (len(kinds), len(kinds))
    assert slots.segment == len(kinds) - cache
    assert kinds[slots.tokens : slots.write] == ["token"] * 3 * steps
    for i, kind in enumerate(kinds):
        if kind != "cache":  # cached slots do not ask
            assert visible[i].tolist() == [looks(kind, i, other, j) for j, other in enumerate(kinds)]


def turn(x: Tensor, position: int) -> Tensor:
    """Rotary position as complex multiplication."""
    width = x.shape[-1]
    angle = position * 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    turned = torch.complex(*x.double().chunk(2, -1)) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([turned.real, turned.imag], -1).float()


def attend(layer: Any, past: list[Tensor], x: list[Tensor], kinds: list[str]) -> list[Tensor]:
    """The output of attention for each of x, which stand after the cached past."""
    attention, everything = layer.attention, [*past, *x]
    kinds = ["cache"] * len(past) + kinds
    heads, groups = attention.heads, attention.kv_heads
    normed = [layer.norm(one) for one in everything]
    projected = [attention.qkv(one).view(heads + 2 * groups, -1) for one in normed]
    turned = [turn(one, 100 + at) for at, one in enumerate(projected)]  # where the row starts must not matter
    values = [one[heads + groups :] for one in projected]
    out = []
    for i in range(len(past), len(everything)):
        seen = [j for j in range(len(everything)) if looks(kinds[i], i, kinds[j], j)]
        mixed = []
        for head in range(heads):
            group = head // (heads // groups)
            scores = [turned[i][head] @ turned[j][heads + group] / attention.head_width**0.5 for j in seen]
            weights = torch.stack(scores).softmax(0)
            mixed.append(sum(w * values[j][group] for w, j in zip(weights, seen, strict=True)))
        out.append(attention.out(torch.cat(mixed)))
    return out


def join(gate: Any, old: list[Tensor], new: list[Tensor]) -> list[Tensor]:
    """The residual sum, or in its place the gate of GTrXL: r, z and a candidate in which r scales the old."""
    if gate is None:
        return [x + y for x, y in zip(old, new, strict=True)]
    out = []
    for x, y in zip(old, [one.clamp(min=0) for one in new], strict=True):
        r, z = (gate.gates_old.weight @ x + gate.gates_new.weight @ y).chunk(2)
        z = torch.sigmoid(z - gate.bias)
        h = torch.tanh(gate.candidate_old.weight @ (torch.sigmoid(r) * x) + gate.candidate_new.weight @ y)
        out.append((1 - z) * x + z * h)
    return out


def statement(policy: SegmentPolicy, window: Segment, row: int) -> Tensor:
    """Section 3 of the paper for one episode, in lists of vectors."""
    slots, transformer = policy.slots, policy.transformer
    memory, cell = list(policy.memory), torch.zeros(1, len(policy.memory), policy.valve.extra)
    cache: list[list[Tensor]] = [[] for _ in transformer.layers]
    predictions = []
    for start in range(0, len(window), K):
        tokens = []
        for t in range(start, min(start + K, len(window))):
            tokens.append(policy.tokens.returns(window.return_to_go[row, t, None]))
            tokens.append(policy.tokens.observation(window.observation[row, t]))
            tokens.append(policy.tokens.action(window.action[row, t], t))
        x = [*memory, *tokens, *memory]
        kinds = ["read"] * len(memory) + ["token"] * len(tokens) + ["write"] * len(memory)
        for index, module in enumerate(transformer.layers):
            layer: Any = module
            past, cache[index] = cache[index], (cache[index] + x)[-slots.cache :] if slots.cache else []
            x = join(getattr(layer, "attention_gate", None), x, attend(layer, past, x, kinds))
            if layer.feed_forward is not None:
                gate = getattr(layer, "feed_forward_gate", None)
                x = join(gate, x, [layer.feed_forward(one) for one in x])
        x = [transformer.norm(one) for one in x]
        predictions += [policy.readout(one) for one in x[len(memory) :][: len(tokens)][1::3]]
        if memory:
            written = torch.stack(x[-len(memory) :])
            kept, cell = policy.valve(torch.stack(memory)[None], written[None], cell)
            memory = list(kept[0])
    return torch.stack(predictions)


@pytest.mark.parametrize("name", CONFIGS)
def test_predictions_are_those_of_the_plain_statement(name: str) -> None:
    policy, window = make(**CONFIGS[name]), make_window()
    with torch.no_grad():
        predicted = unroll(policy, window).prediction
        for row in range(2):
            torch.testing.assert_close(predicted[row], statement(policy, window, row), rtol=2e-5, atol=2e-5)


def test_the_cache_takes_no_gradient_and_memory_does() -> None:
    for changes, crosses in (({"cache_tokens": 20}, True), (CONFIGS["trxl"], False)):
        policy, window = make(**changes), make_window(2 * K)
        window.observation.requires_grad_()
        (gradient,) = torch.autograd.grad(unroll(policy, window).prediction[:, K:].sum(), window.observation)
        assert bool(gradient[:, :K].any()) is crosses
        assert gradient[:, K:].any()


def test_memory_starts_with_rows_that_differ() -> None:
    torch.manual_seed(0)
    policy = RateConfig(segment_len=K, memory_tokens=6).build(SPACES)
    assert isinstance(policy, SegmentPolicy)
    distance = torch.cdist(policy.memory, policy.memory) + 10 * torch.eye(6)
    assert distance.min() > 1
    assert torch.equal(policy.initial_state(3).memory[2], policy.memory)


def test_memory_noise_is_for_training_only_and_between_segments() -> None:
    policy, window = make(memory_noise=0.5, dropout=0.0), make_window(2 * K)
    with torch.no_grad():
        still = unroll(policy, window).prediction
        assert torch.equal(unroll(policy, window).prediction, still)
        policy.train()
        first, second = unroll(policy, window).prediction, unroll(policy, window).prediction
    torch.testing.assert_close(first[:, :K], still[:, :K])
    assert not torch.allclose(first[:, K:], second[:, K:], atol=1e-3)


def test_memory_noise_begins_when_its_share_of_the_training_is_over() -> None:
    policy, window = make(memory_noise=0.5, memory_noise_from=0.5, dropout=0.0).train(), make_window(2 * K)
    with torch.no_grad():
        policy.trained = 0.49
        early = [unroll(policy, window).prediction for _ in range(2)]
        policy.trained = 0.5
        late = [unroll(policy, window).prediction for _ in range(2)]
    assert torch.equal(*early) and not torch.allclose(*late, atol=1e-3)


def test_memory_noise_grows_over_its_share_of_the_training() -> None:
    noise = MemoryNoise(size=0.5, start=0.5, ramp=0.2)
    assert [noise.at(trained) for trained in (0.0, 0.49, 0.5, 0.6, 0.7, 1.0)] == pytest.approx(
        [0, 0, 0, 0.25, 0.5, 0.5]
    )


def test_memory_noise_in_units_of_memory_is_a_share_of_each_episodes_own() -> None:
    memory = torch.randn(3, 200, 50) * torch.tensor([1.0, 4.0, 0.0])[:, None, None]
    found = MemoryNoise(size=0.5, unit="memory").added(memory, 1.0) - memory
    assert found.std((1, 2)).tolist() == pytest.approx([0.5, 2.0, 0.0], rel=0.05)


def test_the_cell_is_carried_kept_by_rows_that_end_and_new_in_every_episode() -> None:
    policy, window = make(valve="lstm"), make_window(3 * K)
    window.mask[1, K + 1 :] = False  # row 1 ends inside of the second segment
    state, cells = policy.initial_state(2), []
    assert state.cell.shape == state.memory.shape and not state.cell.any()
    with torch.no_grad():
        for segment in window.split(K):
            _, state = policy(segment, state)
            cells.append(state.cell)
    assert cells[0].any(-1).all()
    assert torch.equal(cells[1][1], cells[0][1]) and torch.equal(cells[2][1], cells[0][1])
    assert not torch.allclose(cells[1][0], cells[0][0], atol=1e-4)
    assert not policy.initial_state(2).cell.any()
    assert make().initial_state(2).cell.shape == (2, 2, 0)


def test_the_gates_of_gtrxl_start_near_the_identity() -> None:
    torch.manual_seed(0)
    policy = RateConfig(valve="none", memory_tokens=0, cache_tokens=9, gated=True, feed_forward=24).build(SPACES).eval()
    x = torch.randn(2, 6, 64)
    with torch.no_grad():
        query, key_value = policy.transformer.layers[0].project(x, policy.transformer.rotary(0, 6))
        y = policy.transformer.layers[0].mix(x, query, key_value, torch.zeros(24, 6))
    assert (y - x).norm() / x.norm() < 0.5
    assert (torch.nn.functional.cosine_similarity(x, y, dim=-1) > 0.9).all()


def test_the_length_of_segments_has_one_home() -> None:
    """Inside of the block all that depends on it follows, and outside it is as it was, whatever happened inside."""
    policy = RateConfig(segment_len=K).build(SPACES)
    with pytest.raises(RuntimeError), policy.segments_of(K + 2):
        assert policy.segment_len == policy.slots.steps == K + 2
        raise RuntimeError
    assert policy.segment_len == policy.slots.steps == K
    with policy.segments_of(None):
        assert policy.segment_len == K
    with policy.segments_of(K + 2, 7):
        assert (policy.segment_len, policy.cache_tokens) == (K + 2, 7)
    assert (policy.segment_len, policy.cache_tokens) == (K, 0)


def test_sizes_are_taken_by_name() -> None:
    """What a network is made of is what the model's configuration says, under the same names or behind a prefix."""
    config = RateConfig(width=16, heads=2, head_width=8, gated=True, valve_heads=4, valve_start="aligned")
    policy = config.build(SPACES)
    assert policy.transformer.config.gated and policy.transformer.config.head_width == 8
    assert policy.valve.heads == 4
    alike = {item.name for item in fields(TransformerConfig)} <= {item.name for item in fields(RateConfig)}
    assert alike, "a size of the decoder cannot be configured"
    renamed = {"width": "width", "rows": "memory_tokens"}
    behind = {renamed.get(item.name, f"valve_{item.name}") for item in fields(ValveConfig)}
    assert behind <= {item.name for item in fields(RateConfig)}, "a size of the valve cannot be configured"
