"""Recipes and suite of Action Associative Retrieval: one length to train on, and twice that to validate on."""

from __future__ import annotations

import pytest

from rate.envs import ENVS
from rate.evaluation.evaluator import cases_of
from rate.recipes import recipe
from rate.recipes.aar import FIELDS, WINDOW
from rate.recipes.suites import SUITES


@pytest.mark.parametrize("model", FIELDS)
def test_episodes_fit_the_window_and_twice_that_is_validated(model: str) -> None:
    config = recipe(f"aar/{model}")
    assert config.data.options == (f"length={WINDOW}",) and config.train.window == WINDOW
    for cases in (config.eval.cases, config.train.evaluate_cases):
        assert [case.max_steps for case in cases_of(ENVS.get("aar"), cases)] == [WINDOW, 2 * WINDOW]


def test_the_suite_compares_rate_and_dt_alike() -> None:
    runs = SUITES.get("aar").runs()
    assert [run.name for run in runs] == [f"{model}/seed{seed}" for seed in range(2) for model in ("rate", "dt")]
    assert len({run.config.data for run in runs}) == 1
    assert runs[0].config.model.segment_len == WINDOW // 3  # type: ignore[attr-defined]
    assert runs[1].config.model.context == WINDOW  # type: ignore[attr-defined]
