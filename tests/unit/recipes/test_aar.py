"""Recipes and suite of Action Associative Retrieval: one length to train on, and twice that to validate on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rate.envs import ENVS
from rate.envs.spec import spaces_of
from rate.evaluation.evaluator import cases_of
from rate.recipes import recipe
from rate.recipes.aar import FIELDS, WINDOW
from rate.recipes.suite import SUITES


@pytest.mark.parametrize("model", FIELDS)
def test_all_episodes_have_the_length_of_the_window_and_twice_that_is_validated(model: str) -> None:
    config = recipe(f"aar/{model}")
    assert config.data.options == (f"length={WINDOW}",) and config.train.window == WINDOW
    for cases in (config.eval.cases, config.train.evaluate_cases):
        assert [case.max_steps for case in cases_of(ENVS.get("aar"), cases)] == [WINDOW, 2 * WINDOW]


def test_rate_begins_with_the_whole_episode_and_acts_with_a_third_of_it() -> None:
    config = recipe("aar/rate")
    assert config.train.segment_len_at(0) == WINDOW
    assert {config.train.segment_len_at(step) for step in range(config.train.steps)} == {90, 45, 30}
    assert config.model.build(spaces_of(ENVS.get("aar"))).segment_len == WINDOW // 3


def test_the_suite_compares_rate_and_dt_alike() -> None:
    runs = SUITES.get("aar").runs()
    assert [run.name for run in runs] == [f"{model}/seed{seed}" for seed in (5, 6) for model in ("rate", "dt")]
    assert len({str(replace(run.config.train, steps=1, segment_lens=())) for run in runs}) == 1
    assert runs[1].config.model.context == WINDOW  # type: ignore[attr-defined]
