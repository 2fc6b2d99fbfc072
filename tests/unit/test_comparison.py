"""The table of all models measures what it says, on sizes that take no time."""

from __future__ import annotations

import pytest
import torch

from rate import comparison
from rate.models import MODELS

COLUMNS = {
    "ms_per_step_batch_1",
    "ms_per_step_batch_100",
    "late_over_early",
    "state_bytes_per_env",
    "parameters",
    "training_steps_per_second",
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LATE", 40)


@pytest.mark.parametrize("model", ["rate", "oracle-dt", "cql-lstm"])
def test_a_row_has_every_column(model: str) -> None:
    row = comparison.measure(model, 1)
    assert set(row) == COLUMNS
    assert all(value > 0 for value in row.values())


def test_every_model_has_a_row() -> None:
    assert list(comparison.configs()) == MODELS.names()


def test_state_bytes_are_those_of_the_state() -> None:
    assert comparison.acting(comparison.configs()["bc-lstm"], 1)["state_bytes_per_env"] == 2 * 128 * 4
    assert comparison.acting(comparison.configs()["bc-mlp"], 1)["state_bytes_per_env"] == 0


def test_the_loops_compute_what_the_scan_computes() -> None:
    torch.manual_seed(0)
    given = (
        torch.randn(2, 20, 8),
        torch.rand(2, 20, 8),
        -torch.rand(4, 8),
        torch.randn(2, 20, 4),
        torch.randn(2, 20, 4),
        torch.randn(2, 4, 8),
    )
    expected, last = comparison.SCANS["scan"](*given)
    for name in ("plain_loop", "careful_loop"):
        outputs, state = comparison.SCANS[name](*given)
        torch.testing.assert_close(outputs, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(state, last, rtol=1e-5, atol=1e-5)


def test_the_scan_is_compared_with_two_loops() -> None:
    figures = comparison.scan(1, tokens=8, batch=2, inner=4, state=2)
    assert figures["plain_loop_over_scan"] > 0 and figures["careful_loop_over_scan"] > 0
