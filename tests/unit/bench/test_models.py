"""The table of all models measures what it says, on sizes that take no time."""

from __future__ import annotations

import pytest

from rate.bench import models
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
    monkeypatch.setattr(models, "LATE", 40)


@pytest.mark.parametrize("model", ["rate", "oracle-dt", "cql-lstm"])
def test_a_row_has_every_column(model: str) -> None:
    row = models.measure(model, 1)
    assert set(row) == COLUMNS
    assert all(value > 0 for value in row.values())


def test_every_model_has_a_row() -> None:
    assert list(models.configs()) == MODELS.names()


def test_state_bytes_are_those_of_the_state() -> None:
    assert models.acting(models.configs()["bc-lstm"], 1)["state_bytes_per_env"] == 2 * 2 * 128 * 4
    assert models.acting(models.configs()["bc-mlp"], 1)["state_bytes_per_env"] == 0
