"""A small RATE learns T-Maze: what chance (one half) cannot reach, on episodes that it was not trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from integration.tiny import config
from rate.config import RunConfig
from rate.experiment import train_run


def plan(steps: int) -> RunConfig:
    """Corridors of up to nine steps, in three segments of three: the clue must cross two borders through memory."""
    often = {"validate_every": 1000, "checkpoint_every": 1000, "log_every": 50, "segment_lens": (9, 3, 1)}
    base = config(steps=steps, batch_size=32, learning_rate=5e-3, warmup_steps=20, data={"episodes": 1000}, **often)
    return replace(base, model=replace(base.model, width=32, memory_tokens=3, dropout=0.0))


def success(steps: int, out: Path) -> dict[str, float]:
    run = train_run(plan(steps), out)
    judge = replace(run.config.eval, episodes=100, batch=100)
    results = run.evaluate(["length=6", "length=9", "length=30"], config=judge)
    return {result.case.name: result.success_rate.value for result in results if result.success_rate}


@pytest.mark.slow
def test_rate_learns_tmaze(tmp_path: Path) -> None:
    rates = success(500, tmp_path / "run")
    assert rates["length=6"] >= 0.95
    assert rates["length=9"] >= 0.95
    assert rates["length=30"] >= 0.95, "ten segments: memory must hold what it has learnt to write"


def test_without_training_it_is_chance(tmp_path: Path) -> None:
    assert max(success(1, tmp_path / "run").values()) <= 0.65
