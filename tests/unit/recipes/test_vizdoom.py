"""The recipes of ViZDoom-Two-Colors: one budget for all models, an oracle that is told, the suite in its order."""

from __future__ import annotations

from dataclasses import replace

from rate.envs import ENVS
from rate.envs.vizdoom import NAME
from rate.recipes import SUITES, recipe
from rate.recipes.vizdoom import CASES, MODELS


def test_all_models_get_the_same_budget() -> None:
    configs = [recipe(f"{NAME}/{model}") for model in MODELS]
    assert len({replace(config.train, segment_lens=()) for config in configs}) == 1
    assert len({(replace(config.data, oracle=""), replace(config.eval, cases=())) for config in configs}) == 1
    assert {model for model, config in zip(MODELS, configs, strict=True) if config.data.oracle} == {"oracle-dt"}


def test_cases_and_options_are_known_to_the_environment() -> None:
    spec = ENVS.get(NAME)
    for run in SUITES.get("vizdoom").runs():
        assert run.config.eval.cases == (CASES[:1] if run.config.data.oracle else CASES)
        options = {option.partition("=")[0] for option in run.config.data.options}
        assert options <= set(spec.expert_defaults)
        assert run.config.data.oracle in ("", *spec.oracle)


def test_the_papers_sizes() -> None:
    config = recipe(f"{NAME}/rate-paper")
    assert (config.model.segment_len, config.train.window, config.model.memory_tokens) == (50, 150, 15)
    assert config.model.cache_tokens == 100 and "height=64" in config.data.options


def test_the_suite_begins_with_what_memory_is_worth() -> None:
    names = [run.name for run in SUITES.get("vizdoom").runs()]
    assert names[:3] == ["rate/seed0", "dt/seed0", "oracle-dt/seed0"]
    assert len(set(names)) == len(names) == 12
