"""The dynamic convolution against a plain loop, its causality, and the fusion of the two branches."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from rate.nn.long_short import CHANNELS, Block, DynamicConvolution, LongShort, LongShortConfig

SIZES = LongShortConfig(layers=2, width=16, heads=2, conv_width=8, kernel=3, dropout=0.0, kernel_dropout=0.0)


def convolution(kernel: int, dropout: float = 0.2) -> DynamicConvolution:
    torch.manual_seed(0)
    module = DynamicConvolution(8, kernel, dropout).eval()
    torch.nn.init.normal_(module.bias)
    return module


def by_loop(module: DynamicConvolution, x: Tensor) -> Tensor:
    """Token by token, head by head, tap by tap."""
    value, gate = module.gate(x).chunk(2, -1)
    gated = value * gate.sigmoid()
    mixed = torch.zeros_like(gated)
    for row, step in torch.cartesian_prod(torch.arange(x.shape[0]), torch.arange(x.shape[1])).tolist():
        kernels = module.weights(gated[row, step]).view(-1, module.kernel)
        for head, logits in enumerate(kernels):
            channels = slice(head * CHANNELS, (head + 1) * CHANNELS)
            first = max(0, step + 1 - module.kernel)
            seen = step + 1 - first
            weights = logits[-seen:].softmax(0)
            for weight, place in zip(weights, range(first, step + 1), strict=True):
                mixed[row, step, channels] += weight * gated[row, place, channels]
    looped: Tensor = module.out(mixed + module.bias)
    return looped


@pytest.mark.parametrize("kernel", [2, 3, 6, 9])
def test_the_convolution_equals_a_loop(kernel: int) -> None:
    module, x = convolution(kernel), torch.randn(2, 7, 8)
    with torch.no_grad():
        expected = by_loop(module, x)
        for outputs in (7, 1):
            torch.testing.assert_close(module(x, outputs), expected[:, -outputs:], atol=1e-6, rtol=1e-5)


def test_the_convolution_sees_its_taps_and_nothing_else() -> None:
    kernel, length = 3, 8
    module, x = convolution(kernel), torch.randn(1, length, 8)
    with torch.no_grad():
        before = module(x, length)
        for place in range(length):
            moved = x.clone()
            moved[:, place] += 1
            changed = (module(moved, length) - before).abs().amax((0, 2)) > 1e-5
            assert changed.nonzero().flatten().tolist() == list(range(place, min(length, place + kernel)))


def test_dropout_is_on_the_weights_of_the_kernel() -> None:
    module, x = convolution(4, dropout=0.5).train(), torch.randn(2, 6, 8)
    torch.manual_seed(0)
    first = module(x, 6)
    assert not torch.equal(first, module(x, 6))
    assert torch.equal(module.eval()(x, 6), module(x, 6))


def test_the_fusion_weighs_all_features_of_both_branches() -> None:
    torch.manual_seed(0)
    block = Block(SIZES)
    weights = block.fusion(torch.randn(2, 5, 16))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 5))
    assert (weights > 0).all()


def test_the_branches_have_channels_of_their_own() -> None:
    """Attention alone reaches beyond the kernel, and only from its own channels."""
    torch.manual_seed(0)
    block = Block(SIZES).eval()
    rows = LongShort(SIZES, 12).rotary(0, 12)
    x = torch.randn(1, 12, 16)
    with torch.no_grad():
        before = block(x, rows, 12)
        for channel, reach in ((0, 12), (15, SIZES.kernel)):
            moved = x.clone()
            moved[:, 0, channel] += 3
            changed = (block(moved, rows, 12) - before).abs().amax((0, 2)) > 1e-7
            assert changed.nonzero().flatten().tolist() == list(range(reach))
