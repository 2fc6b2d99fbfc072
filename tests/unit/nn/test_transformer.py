"""The decoder's layers are called as modules, so that hooks see every token that is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rate.nn.transformer import Transformer, TransformerConfig

SLOTS, WIDTH = 6, 16
SIZES: dict[str, Any] = {"layers": 2, "width": WIDTH, "heads": 2, "kv_heads": 1, "head_width": 8, "feed_forward": 8}


def run(way: str, decoder: Transformer, x: Tensor) -> Tensor:
    """The output of the last token."""
    if way == "forward":
        output: Tensor = decoder(x, 0, ())[0][:, -1]
        return output
    if way == "last":
        return decoder.last(x)
    buffers = decoder.buffers_for(len(x), keep_hidden=False)
    decoder.extend(x[:, :4], 0, 0, buffers)
    return decoder.extend(x[:, 4:], 4, 0, buffers)[:, -1]


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("way", ["forward", "last", "extend"])
def test_hooks_see_and_change_what_a_layer_gives(way: str, gated: bool) -> None:
    config = TransformerConfig(**SIZES, dropout=0.0, attention_dropout=0.0, gated=gated)
    torch.manual_seed(0)
    decoder = Transformer(config, torch.ones(SLOTS, SLOTS).tril().bool()).eval()
    x, seen = torch.randn(2, SLOTS, WIDTH), []
    hook: Callable[..., Any] = lambda layer, given, output: seen.append(output.shape[1])  # noqa: E731
    with torch.no_grad():
        expected = run("forward", decoder, x)
        handles = [layer.register_forward_hook(hook) for layer in decoder.layers]
        torch.testing.assert_close(run(way, decoder, x), expected)
        assert seen == {"forward": [6, 6], "last": [6, 1], "extend": [4, 4, 2, 2]}[way]
        for handle in handles:
            handle.remove()
        top: nn.Module = decoder.layers[-1]
        top.register_forward_hook(lambda layer, given, output: output * 0)
        assert torch.equal(run(way, decoder, x), decoder.norm.bias.expand(2, -1))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("cached", [0, 2])
def test_the_outputs_that_are_wanted_are_those_of_the_whole_run(gated: bool, cached: int) -> None:
    """Outputs, what the next segment may cache, and gradients, while the top layer runs the wanted tokens alone."""
    sizes = {**SIZES, "heads": 4, "kv_heads": 2}
    config = TransformerConfig(**sizes, dropout=0.0, attention_dropout=0.0, gated=gated)
    torch.manual_seed(0)
    decoder = Transformer(config, torch.ones(SLOTS + cached, SLOTS + cached).tril().bool())
    x, cache = torch.randn(2, SLOTS, WIDTH, requires_grad=True), [torch.randn(2, cached, WIDTH)] * (2 if cached else 0)
    wanted, run_at_the_top = torch.tensor([1, 4, 5]), []
    decoder.layers[-1].register_forward_hook(lambda layer, given, output: run_at_the_top.append(output.shape[1]))
    found = []
    for some in (None, wanted):
        outputs, inputs = decoder(x, cached, cache, some)
        outputs = outputs[:, wanted] if some is None else outputs
        outputs.square().sum().backward()
        found.append((outputs, *inputs, x.grad, *(p.grad for p in decoder.parameters())))
        x.grad = None
        decoder.zero_grad()
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=1e-5)
    assert run_at_the_top == [SLOTS, 3]
