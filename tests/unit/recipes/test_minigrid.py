"""Recipes and suite of Minigrid-Memory: one size to train on, windows that hold whole episodes, all sizes to judge."""

from __future__ import annotations

import pytest

from rate.envs import ENVS
from rate.envs.minigrid_expert import ExpertOptions, expert
from rate.envs.spec import CollectRequest, spaces_of
from rate.evaluation.evaluator import cases_of
from rate.recipes import recipe
from rate.recipes.minigrid import FIELDS, SIZE, SIZES
from rate.recipes.suites import SUITES

EACH_MODEL = pytest.mark.parametrize("model", FIELDS)


@EACH_MODEL
def test_a_window_holds_any_episode_of_the_data(model: str) -> None:
    config = recipe(f"minigrid-memory/{model}")
    assert config.data.options == (f"size={SIZE}",)
    longest = ExpertOptions(size=SIZE, min_length=2 * SIZE - 3)  # a longer one is refused
    (item,) = expert(CollectRequest(episodes=1, seed=0, kwargs=vars(longest)))
    assert len(item) <= config.train.window


@EACH_MODEL
def test_all_models_are_judged_on_all_sizes(model: str) -> None:
    cases = cases_of(ENVS.get("minigrid-memory"), recipe(f"minigrid-memory/{model}").eval.cases)
    assert [case.kwargs["size"] for case in cases] == list(SIZES)


def test_rate_begins_with_whole_episodes_in_the_recipe_and_in_the_suite() -> None:
    suite = next(run.config for run in SUITES.get("minigrid-memory").runs() if run.name == "rate/seed0")
    for config in (recipe("minigrid-memory/rate"), suite):
        train = config.train
        assert train.segment_len_at(0) == train.window == 90
        lengths = {train.segment_len_at(step) for step in range(train.steps)}
        policy = config.model.build(spaces_of(ENVS.get("minigrid-memory")))
        assert policy.segment_len in lengths and len(lengths) >= 3


def test_the_suite_has_two_seeds_of_each_model() -> None:
    runs = SUITES.get("minigrid-memory").runs()
    assert sorted(run.name for run in runs) == sorted(
        f"{model}/seed{seed}" for model in ("rate", "dt", "bc-lstm") for seed in (0, 1)
    )
    assert all(run.name.endswith(f"seed{run.config.seed}") for run in runs)
