"""The recipes of MuJoCo: one budget for all models, the paper's window and prompts, every run of a suite once."""

from __future__ import annotations

from dataclasses import replace

from rate.envs import ENVS
from rate.envs.mujoco import NAMES
from rate.recipes import RECIPES, SUITES, recipe
from rate.recipes.mujoco import FIELDS, GRADES, PARTIAL, SEGMENTED, TABLE, VIEWS


def test_every_walker_has_a_recipe_for_every_model() -> None:
    assert {f"{env}/{model}" for env in NAMES for model in FIELDS} <= set(RECIPES.names())


def test_all_models_get_the_same_budget_and_the_papers_window() -> None:
    configs = [recipe(f"mujoco/hopper/{model}") for model in FIELDS]
    assert len({(config.train, config.data, replace(config.eval, prompt="countdown")) for config in configs}) == 1
    rate = recipe("mujoco/hopper/rate")
    assert (rate.train.window, rate.model.segment_len) == (60, 20)


def test_models_of_segments_are_asked_anew_in_each() -> None:
    for model in FIELDS:
        asked = recipe(f"mujoco/hopper/{model}").eval.prompt
        assert asked == ("per-segment" if model in SEGMENTED else "countdown")


def test_the_papers_size_has_its_name() -> None:
    config = recipe("mujoco/walker2d/rate-paper")
    assert (config.recipe, config.model.layers, config.model.width, config.train.batch_size) == (
        "mujoco/walker2d/rate-paper",
        3,
        128,
        4096,
    )


def test_suites_name_each_run_once_and_ask_for_data_that_exists() -> None:
    for name, count in (("mujoco", 3 * len(GRADES) * len(TABLE)), ("mujoco-partial", 3 * len(VIEWS) * len(PARTIAL))):
        runs = SUITES.get(name).runs()
        assert len({run.name for run in runs}) == len(runs) == 2 * count
        for run in runs:
            options = {option.partition("=")[0] for option in run.config.data.options}
            assert options <= set(ENVS.get(run.config.env.name).expert_defaults)
