"""Every POPGym task from its expert to an evaluated policy: the data is collected, trained on for 50 steps, judged."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rate.config import edit
from rate.envs.popgym import TASKS
from rate.experiment import train_run
from rate.recipes import recipe
from rate.recipes.popgym import FIELDS

pytest.importorskip("popgym", reason="needs the extra popgym")

SMALL = {
    "model.layers": 1,
    "model.width": 16,
    "model.heads": 1,
    "model.head_width": 16,
    "model.feed_forward": 0,
    "model.valve_heads": 1,
    "model.memory_tokens": 2,
    "model.segment_len": 8,
    "data.episodes": 6,
    "train.window": 16,
    "train.steps": 50,
    "train.batch_size": 4,
    "train.validate_every": 50,
    "train.checkpoint_every": 50,
    "eval.episodes": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("env", TASKS)
def test_a_task_collects_trains_and_evaluates(env: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    config = edit(recipe(f"{env}/rate"), {**SMALL, "eval.max_steps": 40})
    run = train_run(config, tmp_path / "run")
    (result,) = run.evaluate()
    assert run.step == 50
    assert [record.tags["subset"] in ("memory", "reactive") for record in result.records] == [True, True]
    assert all(math.isfinite(record.episode_return) and 1 <= record.length <= 40 for record in result.records)


@pytest.mark.slow
@pytest.mark.parametrize("env", TASKS)
def test_every_recipe_of_a_task_takes_a_step(env: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With windows and sizes as they are, on data that is large enough to hold the episodes that they are meant for."""
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    for model in FIELDS:
        config = recipe(f"{env}/{model}", {"data.episodes": 40, "train.steps": 1, "train.batch_size": 2})
        assert train_run(config, tmp_path / model).step == 1
