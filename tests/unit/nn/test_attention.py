"""Rotary positions and attention, against plain statements of both."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from rate.nn.attention import Attention, Rotary, as_products, turn
from rate.nn.transformer import Transformer, TransformerConfig

WIDTH = 8


def place(rotary: Rotary, x: Tensor, start: int) -> Tensor:
    """Turn (B, L, heads, width) to the slots from `start` on."""
    return turn(x, rotary(start, x.shape[1]))


def score(rotary: Rotary, query: Tensor, key: Tensor, i: int, j: int) -> float:
    return float((place(rotary, query.view(1, 1, 1, -1), i) * place(rotary, key.view(1, 1, 1, -1), j)).sum())


def test_rotary_scores_depend_on_the_signed_distance_only() -> None:
    torch.manual_seed(0)
    rotary, (query, key) = Rotary(40, 1, 0, WIDTH), torch.randn(2, WIDTH)
    for distance in (-7, -1, 0, 1, 7):
        scores = [score(rotary, query, key, i, i + distance) for i in range(7, 33)]
        assert max(scores) - min(scores) < 1e-5
    assert score(rotary, query, key, 10, 10) == pytest.approx(float(query @ key), abs=1e-5)


def test_rotary_tells_the_two_directions_apart() -> None:
    torch.manual_seed(0)
    rotary, (query, key) = Rotary(40, 1, 0, WIDTH), torch.randn(2, WIDTH)
    for distance in (1, 2, 5):
        there, back = score(rotary, query, key, 10, 10 + distance), score(rotary, query, key, 10, 10 - distance)
        assert abs(there - back) > 1e-3


def test_rotary_turns_pairs_as_complex_numbers() -> None:
    torch.manual_seed(0)
    rotary, x, start = Rotary(20, 3, 0, WIDTH), torch.randn(2, 5, 3, WIDTH), 4
    pairs = torch.complex(*x.double().chunk(2, -1))
    angle = torch.arange(start, start + 5)[:, None] * 10_000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    turned = pairs * torch.polar(torch.ones_like(angle), angle).to(pairs.dtype)[:, None]
    expected = torch.cat([turned.real, turned.imag], -1).float()
    torch.testing.assert_close(place(rotary, x, start), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(place(rotary, x, start).norm(dim=-1), x.norm(dim=-1))


def test_rotary_leaves_the_still_heads_as_they_are() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 3, WIDTH)
    turned = place(Rotary(20, 2, 1, WIDTH), x, 4)
    assert torch.equal(turned[:, :, 2], x[:, :, 2])
    assert torch.equal(turned[:, :, :2], place(Rotary(20, 2, 0, WIDTH), x[:, :, :2], 4))


def make(heads: int, kv_heads: int, dropout: float) -> tuple[Attention, Rotary]:
    torch.manual_seed(0)
    return Attention(12, heads, kv_heads, WIDTH, dropout), Rotary(20, heads + kv_heads, kv_heads, WIDTH)


def plain_attention(layer: Attention, x: Tensor, start: int, bias: Tensor) -> Tensor:
    """Head by head: query head h reads the key head h // share."""
    heads, groups, rotary = layer.heads, layer.kv_heads, Rotary(20, 1, 0, WIDTH)
    query, key, value = layer.qkv(x).unflatten(-1, (-1, WIDTH)).split((heads, groups, groups), 2)
    mixed = []
    for head in range(heads):
        group = [head // (heads // groups)]
        asked, offered = place(rotary, query[:, :, [head]], start), place(rotary, key[:, :, group], start)
        scores = torch.einsum("bihd,bjhd->bij", asked, offered)
        mixed.append((scores / WIDTH**0.5 + bias).softmax(-1) @ value[:, :, group[0]])
    return torch.cat(mixed, -1)


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (4, 1), (4, 2), (4, 4), (6, 3)])
def test_attention_is_multi_head_attention(heads: int, kv_heads: int) -> None:
    layer, rotary = make(heads, kv_heads, dropout=0.0)
    x = torch.randn(3, 7, 12)
    bias = torch.zeros(7, 7).masked_fill(torch.rand(7, 7).fill_diagonal_(0) > 0.6, float("-inf"))
    mixed = layer(*layer.project(x, rotary(5, 7)), bias.repeat_interleave(heads // kv_heads, 0))
    torch.testing.assert_close(mixed, plain_attention(layer, x, 5, bias), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_attention_dropout_acts_in_training_only(kv_heads: int) -> None:
    layer, rotary = make(4, kv_heads, dropout=0.5)
    x = torch.randn(2, 6, 12)

    def run() -> Tensor:
        return layer(*layer.project(x, rotary(0, 6)), torch.zeros(6 * 4 // kv_heads, 6))

    assert not torch.equal(run(), run())
    layer.eval()
    assert torch.equal(run(), run())


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("feed_forward", [0, 24])
def test_extending_equals_running_at_once(kv_heads: int, feed_forward: int) -> None:
    torch.manual_seed(0)
    config = TransformerConfig(
        layers=3,
        width=16,
        heads=4,
        kv_heads=kv_heads,
        head_width=WIDTH,
        feed_forward=feed_forward,
        dropout=0.2,
        attention_dropout=0.1,
    )
    slots, cached = 14, 4
    model = Transformer(config, torch.ones(slots, slots).tril().bool()).eval()
    x, cache = torch.randn(2, slots - cached, 16), [torch.randn(2, cached, 16) for _ in range(3)]
    with torch.no_grad():
        whole, inputs = model(x, cached, cache)
        buffers = model.buffers_for(2, keep_hidden=True)
        for rows, old in zip(buffers.hidden, cache, strict=True):
            rows[:, :cached] = old
        model.load_cache(cached, 0, buffers)
        pieces = [model.extend(x[:, at : at + 3], cached + at, 0, buffers) for at in range(0, x.shape[1], 3)]
    torch.testing.assert_close(torch.cat(pieces, 1), whole, rtol=1e-5, atol=1e-5)
    assert torch.equal(inputs[0], x)
    for kept, expected in zip(buffers.hidden, inputs, strict=True):
        torch.testing.assert_close(kept[:, cached:], expected, rtol=1e-5, atol=1e-5)


def test_what_lies_before_the_first_slot_is_not_read() -> None:
    torch.manual_seed(0)
    config = TransformerConfig(
        layers=2, width=16, heads=2, kv_heads=1, head_width=WIDTH, feed_forward=0, dropout=0.0, attention_dropout=0.0
    )
    model = Transformer(config, torch.ones(9, 9).tril().bool()).eval()
    x = torch.randn(2, 2, 16)
    clean, dirty = (model.buffers_for(2, keep_hidden=False) for _ in range(2))
    for stored in dirty.key_values:
        stored[:, :, :5] = 1e3
    with torch.no_grad():
        assert torch.equal(model.extend(x, 5, 5, clean), model.extend(x, 5, 5, dirty))
        assert not torch.equal(model.extend(x, 5, 4, clean), model.extend(x, 5, 4, dirty))


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (4, 2), (4, 4)])
def test_weights_are_those_that_the_values_are_mixed_with(heads: int, kv_heads: int) -> None:
    layer, rotary = make(heads, kv_heads, dropout=0.0)
    bias = torch.zeros(7, 7).masked_fill(torch.ones(7, 7).triu(1) > 0, float("-inf"))
    given = (*layer.project(torch.randn(3, 7, 12), rotary(5, 7)), bias.repeat_interleave(heads // kv_heads, 0))
    weights = layer.weights(*given)
    assert weights.shape == (3, heads, 7, 7) and not weights.triu(1).any()
    value = given[1][:, kv_heads:].repeat_interleave(heads // kv_heads, 1)  # (B, heads, slots, width)
    torch.testing.assert_close(layer(*given), (weights @ value).transpose(1, 2).flatten(2), rtol=1e-5, atol=1e-5)


def test_plain_products_are_the_fused_attention() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 10, WIDTH), torch.randn(3, 2, 7, WIDTH), torch.randn(3, 2, 7, WIDTH)
    bias = torch.zeros(10, 7).masked_fill(torch.rand(10, 7) < 0.4, float("-inf"))
    bias[:, 0] = 0
    fused = scaled_dot_product_attention(query, key, value, attn_mask=bias)
    torch.testing.assert_close(as_products(query, key, value, bias), fused, atol=1e-6, rtol=1e-5)
