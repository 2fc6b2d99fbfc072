"""The recipes of Atari: the paper's window, one budget for all models, and a game that is trained on end to end."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rate.envs.atari import NAMES
from rate.experiment import train_run
from rate.recipes import RECIPES, recipe
from rate.recipes.atari import FIELDS


def test_every_game_has_a_recipe_for_every_model() -> None:
    assert {f"{env}/{model}" for env in NAMES for model in (*FIELDS, "rate-paper")} <= set(RECIPES.names())


def test_all_models_get_the_same_budget_and_the_papers_window() -> None:
    configs = [recipe(f"atari/pong/{model}") for model in FIELDS]
    assert len({(config.train, config.data, config.eval) for config in configs}) == 1
    for name in ("rate", "rate-paper"):
        assert recipe(f"atari/pong/{name}").train.window == 3 * recipe(f"atari/pong/{name}").model.segment_len == 90


def test_a_game_is_collected_trained_on_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ale_py", reason="needs the extra atari")
    pytest.importorskip("cv2", reason="needs the extra atari")
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    small = {
        "model.layers": 1,
        "model.segment_len": 5,
        "model.encoder.channels": (4, 4, 4),
        "data.episodes": 3,
        "data.options": ("max_steps=60",),
        "train.window": 15,
        "train.steps": 2,
        "train.batch_size": 2,
        "eval.episodes": 1,
        "eval.max_steps": 12,
    }
    run = train_run(recipe("atari/pong/rate", small), tmp_path / "run")
    (result,) = run.evaluate()
    assert [record.length for record in result.records] == [12]
    assert math.isfinite(result.return_mean.value)
