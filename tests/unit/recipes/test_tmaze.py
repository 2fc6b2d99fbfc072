"""Recipes and suites of T-Maze: every model has one, all are trained alike, and names are unique."""

from __future__ import annotations

import pytest

from rate.models import BUILT_IN, MODELS
from rate.recipes import RECIPES, recipe
from rate.recipes.suites import SUITES
from rate.recipes.tmaze import EVERY, FIELDS, VALVE_NAMES


def test_every_model_has_a_recipe() -> None:
    assert set(FIELDS) <= set(BUILT_IN) == set(EVERY)
    assert {f"tmaze/{model}" for model in MODELS.names()} <= set(RECIPES.names())


@pytest.mark.parametrize("model", MODELS.names())
def test_all_models_have_the_same_budget(model: str) -> None:
    config, rate = recipe(f"tmaze/{model}"), recipe("tmaze/rate")
    assert config.model.name == model
    assert (config.train.steps, config.train.batch_size, config.train.window) == (
        rate.train.steps,
        rate.train.batch_size,
        rate.train.window,
    )
    assert (config.data.episodes, config.data.options) == (rate.data.episodes, rate.data.options)


@pytest.mark.parametrize("name", [name for name in SUITES.names() if name.startswith("tmaze")])
def test_runs_of_a_suite_have_names_and_seeds_of_their_own(name: str) -> None:
    runs = SUITES.get(name).runs()
    assert len({run.name for run in runs}) == len(runs)
    assert all(run.name.endswith(f"seed{run.config.seed}") for run in runs)


def test_the_baselines_are_all_models_at_three_lengths() -> None:
    runs = SUITES.get("tmaze-baselines").runs()
    for window, seeds in ((9, 1), (30, 3), (90, 1)):
        here = [run.config for run in runs if run.config.train.window == window]
        assert sorted(config.model.name for config in here) == sorted(MODELS.names() * seeds)
        assert all(config.data.options == (f"length={window}",) for config in here)


@pytest.mark.parametrize("name", ["tmaze-valves", "tmaze-valves-paper"])
def test_valves_differ_in_nothing_else(name: str) -> None:
    runs = SUITES.get(name).runs()
    models = [run.config.model for run in runs]
    assert {model.valve for model in models} == set(VALVE_NAMES)
    assert len({str({**vars(model), "valve": ""}) for model in models}) == 1
    assert {run.config.train.window // run.config.model.segment_len for run in runs} == {5}


def test_the_papers_learning_rate_is_constant() -> None:
    assert {run.config.train.schedule for run in SUITES.get("tmaze-valves-paper").runs()} == {"constant"}
