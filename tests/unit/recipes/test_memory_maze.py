"""The recipes of Memory Maze: the paper's window, one budget for all models, and a maze that is trained in."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from rate.envs import ENVS
from rate.envs.memory_maze import NAMES
from rate.errors import MissingExtraError, MissingLibraryError
from rate.experiment import train_run
from rate.recipes import RECIPES, SUITES, recipe
from rate.recipes.memory_maze import MODEL_NAMES


def test_every_maze_has_a_recipe_for_every_model() -> None:
    assert {f"{env}/{model}" for env in NAMES for model in (*MODEL_NAMES, "rate-paper")} <= set(RECIPES.names())


def test_all_models_get_the_same_budget_and_the_papers_window() -> None:
    runs = SUITES.get("memory-maze").runs()
    assert [run.name for run in runs[:2]] == ["rate/seed0", "dt/seed0"] and len(runs) == len(MODEL_NAMES)
    configs = [run.config for run in runs]
    assert len({(replace(config.train, segment_lens=()), config.data, config.eval) for config in configs}) == 1
    assert configs[0].train.window == 90 and configs[0].data.start == "auto"
    paper = recipe("memory-maze/9x9/rate-paper")
    assert paper.train.window == 3 * paper.model.segment_len == 90


@pytest.mark.slow
def test_a_maze_is_collected_trained_in_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    try:
        ENVS.get("memory-maze/11x11").make().close()
    except (MissingExtraError, MissingLibraryError) as error:
        pytest.skip(str(error))
    small = {
        "model.layers": 1,
        "model.segment_len": 5,
        "model.encoder.channels": (4, 4, 4),
        "data.episodes": 3,
        "data.options": ("max_steps=40",),
        "train.window": 15,
        "train.windows": (5, 15),
        "train.segment_lens": (15, 5),
        "train.steps": 2,
        "train.batch_size": 2,
        "eval.episodes": 2,
        "eval.max_steps": 10,
    }
    run = train_run(recipe("memory-maze/11x11/rate", small), tmp_path / "run")
    (result,) = run.evaluate()
    assert [record.length for record in result.records] == [10, 10]
    assert math.isfinite(result.return_mean.value)
