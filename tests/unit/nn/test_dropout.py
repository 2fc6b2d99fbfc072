"""Dropout: the share that is left out, the mean that is kept, and draws that follow the generator."""

from __future__ import annotations

import pytest
import torch

from rate.nn.dropout import Dropout


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_it_leaves_out_its_share_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(share)(torch.ones(1001, 999))
    assert (dropped == 0).double().mean() == pytest.approx(share, abs=0.002)
    assert dropped.double().mean() == pytest.approx(1, abs=0.01)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / (1 - share)])


def test_all_four_entries_of_a_draw_are_alike_and_know_nothing_of_each_other() -> None:
    torch.manual_seed(0)
    kept = (Dropout(0.3)(torch.ones(100_000, 4)) > 0).double()
    assert kept.mean(0).tolist() == pytest.approx([0.7] * 4, abs=0.01)
    assert (torch.corrcoef(kept.T) - torch.eye(4)).abs().max() < 0.02


def test_draws_follow_the_generator_and_gradients_the_mask() -> None:
    x, layer = torch.randn(3, 5, 7, requires_grad=True), Dropout(0.4)
    torch.manual_seed(1)
    first = layer(x)
    torch.manual_seed(1)
    assert torch.equal(first, layer(x)) and not torch.equal(first, layer(x))
    (gradient,) = torch.autograd.grad(first.sum(), x)
    assert torch.equal(gradient == 0, first == 0)


@pytest.mark.parametrize(("share", "training"), [(0.0, True), (0.5, False)])
def test_nothing_is_left_out_where_nothing_is_to_be(share: float, training: bool) -> None:
    x = torch.randn(4, 4)
    assert torch.equal(Dropout(share).train(training)(x), x)
