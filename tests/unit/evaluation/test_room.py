"""Effective numbers of rows and directions, on memories made by hand."""

from __future__ import annotations

import pytest
import torch

from rate.evaluation.room import effective, holding, rank, room


def test_equal_shares_count_and_nothing_counts_as_nothing_more() -> None:
    assert effective(torch.tensor([2.0, 2.0, 2.0, 0.0])).item() == pytest.approx(3)
    assert effective(torch.tensor([0.0, 5.0])).item() == pytest.approx(1)
    assert effective(torch.zeros(3)).isfinite()


def test_rank_counts_rows_that_are_unlike() -> None:
    alike, unlike = torch.ones(1, 4, 8), torch.eye(4, 8)[None]
    assert rank(torch.cat([alike, unlike])).tolist() == pytest.approx([1, 4], abs=1e-4)


def test_what_differs_between_episodes_is_counted_by_rows_and_by_directions() -> None:
    memory = torch.randn(3, 8).expand(64, 3, 8).clone()
    bits = torch.tensor([[i % 2, i // 2 % 2] for i in range(64)]).float()
    memory[:, 1, :2] += bits  # two bits in one row
    assert holding(memory).item() == pytest.approx(1) and room(memory).item() == pytest.approx(2, abs=1e-3)
    memory[:, 2, :2] += bits  # the same bits in another
    assert holding(memory).item() == pytest.approx(2) and room(memory).item() == pytest.approx(2, abs=1e-3)


@pytest.mark.parametrize("episodes", [1, 7])
def test_nothing_is_held_where_nothing_differs(episodes: int) -> None:
    memory = torch.randn(3, 8).expand(episodes, 3, 8)
    assert holding(memory).item() == room(memory).item() == 0
