"""Every model on a short T-Maze: those with memory solve it, reactive ones cannot, windows forget what leaves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rate.config import edit
from rate.experiment import train_run
from rate.recipes.tmaze import EVERY, earlier

REACTIVE = {"bc-mlp", "cql-mlp"}
WINDOW = 9
BUDGET = {
    "train.steps": 250,
    "train.batch_size": 32,
    "train.learning_rate": 3e-3,
    "train.warmup_steps": 20,
    "train.validate_every": 250,
    "data.episodes": 1000,
}


def success(model: str, out: Path) -> dict[int, float]:
    """At the training length, and at three times as much."""
    run = train_run(edit(earlier(model, WINDOW), BUDGET), out)
    judge = replace(run.config.eval, episodes=60, batch=60)
    results = run.evaluate([f"length={length}" for length in (WINDOW, 3 * WINDOW)], config=judge)
    return {result.case.kwargs["length"]: result.success_rate.value for result in results if result.success_rate}


@pytest.mark.slow
@pytest.mark.parametrize("model", EVERY)
def test_the_clue_is_remembered_by_those_who_can(model: str, tmp_path: Path) -> None:
    rates = success(model, tmp_path / "run")
    if model in REACTIVE:
        assert max(rates.values()) <= 0.7
        return
    assert rates[WINDOW] >= 0.95
    if model in ("dt", "lsdt"):
        assert rates[3 * WINDOW] <= 0.7, "the clue has left the window"
    if model in ("rate", "oracle-dt"):
        assert rates[3 * WINDOW] >= 0.95
