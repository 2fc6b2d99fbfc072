"""The recipes of POPGym: one small size for all tasks, windows that hold the episodes where they can."""

from __future__ import annotations

from pathlib import Path

import pytest

from rate.envs import ENVS
from rate.envs.popgym import PLAYED, TASKS
from rate.experiment.data import cut_windows, prepare_data
from rate.recipes import RECIPES, SUITES, recipe
from rate.recipes.popgym import FIELDS, LONGEST


def test_every_task_has_a_recipe_for_every_model() -> None:
    assert len(TASKS) == 48
    assert {f"{env}/{model}" for env in TASKS for model in FIELDS} <= set(RECIPES.names())


def test_every_step_of_an_episode_is_trained() -> None:
    """By whole episodes where a state is carried, else by windows that start anywhere."""
    for env in TASKS:
        assert PLAYED[env] <= ENVS.get(env).case().max_steps
        for model in FIELDS:
            config = recipe(f"{env}/{model}")
            slides = hasattr(config.model, "context")
            assert config.data.start == "auto" and config.train.window >= min(PLAYED[env], LONGEST if slides else 10**9)
        rate = recipe(f"{env}/rate")
        assert rate.model.segment_len <= LONGEST // 3 and rate.train.window // rate.model.segment_len >= 3


@pytest.mark.parametrize("family", ["LabyrinthEscape", "LabyrinthExplore"])
def test_windows_are_those_of_episodes_that_are_played_and_not_of_their_limit(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("popgym", reason="needs the extra popgym")
    monkeypatch.setenv("RATE_DATA", str(tmp_path))
    config = recipe(f"popgym/{family}-Easy/rate", {"data.episodes": 60})
    cut_windows(config, prepare_data(config.env.name, config.data))


def test_all_models_get_the_same_budget() -> None:
    configs = [recipe(f"popgym/Autoencode-Easy/{model}", {"train.segment_lens": ()}) for model in FIELDS]
    assert len({(config.train, config.data, config.eval) for config in configs}) == 1


def test_a_recurrent_model_is_told_its_own_actions() -> None:
    """Hit or miss means nothing without the square that was shot at."""
    assert recipe("popgym/Battleship-Easy/bc-lstm").model.previous_action


def test_suites_name_each_run_once() -> None:
    for name, runs in (
        ("popgym", 48 * 3),
        ("popgym-six", 6 * 8),
        ("popgym-three", 3 * 8),
        ("popgym-paper-like", 48 * 8),
    ):
        names = [run.name for run in SUITES.get(name).runs()]
        assert len(set(names)) == len(names) == runs


def test_paper_like_data_is_another_data_set() -> None:
    (first, *_) = SUITES.get("popgym-paper-like").runs()
    assert first.config.data.options == ("grade=paper-like",)


def test_three_tasks_have_more_data_and_steps() -> None:
    six, three = ({run.name: run.config for run in SUITES.get(name).runs()} for name in ("popgym-six", "popgym-three"))
    assert set(three) < set(six)
    for name, config in three.items():
        assert config.train.steps > six[name].train.steps and config.data.episodes > six[name].data.episodes
        assert config.model == six[name].model and config.eval == six[name].eval
