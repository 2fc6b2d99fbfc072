"""The recipes of Atari: the paper's window, one budget for all models, and a game that is trained on end to end."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rate.envs.atari import NAMES
from rate.experiment import train_run
from rate.recipes import RECIPES, SUITES, recipe
from rate.recipes.atari import FIELDS, TARGETS

PLAYERS = Path(__file__).parents[3] / "benchmarks" / "atari" / "behaviour" / "returns_1500.jsonl"


def test_every_game_has_a_recipe_for_every_model() -> None:
    assert {f"{env}/{model}" for env in NAMES for model in (*FIELDS, "rate-paper")} <= set(RECIPES.names())


def test_all_models_get_the_same_budget_and_the_papers_window() -> None:
    configs = [recipe(f"atari/pong/{model}") for model in FIELDS]
    assert len({(config.train, config.data, config.eval) for config in configs}) == 1
    for name in ("rate", "rate-paper"):
        assert recipe(f"atari/pong/{name}").train.window == 3 * recipe(f"atari/pong/{name}").model.segment_len == 90


def test_the_suite_names_each_run_once_and_asks_for_what_the_players_reach() -> None:
    runs = SUITES.get("atari").runs()
    assert len({run.name for run in runs}) == len(runs) == 2 * 3 * 2 + 2 * 2
    for run in runs:
        config = run.config
        assert config.data.options == (f"max_steps={config.eval.max_steps}",)
        assert config.eval.target_return == TARGETS[config.env.name]
        assert run.name == f"{config.recipe.removeprefix('atari/')}/seed{config.seed}"


def test_targets_are_those_of_the_measured_players() -> None:
    lines = [json.loads(line) for line in PLAYERS.read_text().splitlines()]
    for env, target in TARGETS.items():
        played = [line["score"] for line in lines if (f"atari/{line['game']}", line["player"]) == (env, "spread=0.0")]
        assert len(played) == 3 and target == pytest.approx(sum(played) / len(played), rel=0.05)


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
        "train.windows": (5, 15),
        "train.steps": 2,
        "train.batch_size": 2,
        "eval.episodes": 1,
        "eval.max_steps": 12,
    }
    run = train_run(recipe("atari/pong/rate", small), tmp_path / "run")
    (result,) = run.evaluate()
    assert [record.length for record in result.records] == [12]
    assert math.isfinite(result.return_mean.value)
