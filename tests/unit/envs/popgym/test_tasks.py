"""The table of the 48 tasks, and what is registered of it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rate.envs import ENVS
from rate.envs.popgym import FAMILIES, LEVELS, TASKS
from rate.envs.popgym.grades import GAMMAS, WORSE_THAN_RANDOM
from rate.envs.spec import CollectRequest
from rate.errors import ConfigError, UnknownNameError
from rate.types import Trajectory


def collected(task: str, episodes: int = 4, **options: Any) -> list[Trajectory]:
    pytest.importorskip("popgym")
    spec = ENVS.get(f"popgym/{task}")
    assert spec.expert is not None
    return list(spec.expert(CollectRequest(episodes=episodes, seed=2, kwargs=options)))


def test_there_are_33_memory_and_15_reactive_tasks() -> None:
    subsets = [ENVS.get(task).case().tags["subset"] for task in TASKS]
    assert (subsets.count("memory"), subsets.count("reactive")) == (33, 15)


def test_listing_them_does_not_import_the_package() -> None:
    code = "import sys, rate; assert 'popgym' not in sys.modules and 'popgym/RepeatFirst-Hard' in rate.envs.ENVS"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_papers_column_is_in_the_order_of_the_games() -> None:
    """The paper prints Medium and Hard exchanged: with 13 ranks Concentration cannot be easier than with colours."""
    paper = {family.name: family.paper for family in FAMILIES}
    assert paper["Concentration"] == (-0.12, -0.44, -0.87)
    assert paper["RepeatPrevious"] == (1.0, -0.39, -0.48)
    assert paper["NoisyPositionOnlyCartPole"] == (0.98, 0.57, 0.36)


def test_a_case_says_what_it_is() -> None:
    case = ENVS.get("popgym/Battleship-Medium").case()
    assert (case.name, case.max_steps) == ("default", 100)
    assert case.tags == {"family": "Battleship", "level": "Medium", "subset": "memory"}
    assert ENVS.get("popgym/Battleship-Medium").case(observation="raw").kwargs == {"observation": "raw"}


def test_raw_data_is_the_native_data_as_vectors() -> None:
    for native, raw in zip(collected("Autoencode-Easy"), collected("Autoencode-Easy", observation="raw"), strict=True):
        np.testing.assert_array_equal(np.stack(native.observations, axis=1), raw.observations)
        np.testing.assert_array_equal(native.actions, raw.actions)
        assert raw.observations.dtype == np.float32


def test_every_task_has_an_exponent() -> None:
    assert set(GAMMAS) == {family.name for family in FAMILIES}
    assert all(gamma >= 0 for row in GAMMAS.values() for gamma in row)
    assert {task.removeprefix("popgym/") for task in TASKS} >= WORSE_THAN_RANDOM


@pytest.mark.parametrize("task", ["RepeatPrevious-Medium", "CountRecall-Easy", "Concentration-Medium"])
def test_paper_like_data_is_as_good_as_the_papers_and_spreads(task: str) -> None:
    family = next(item for item in FAMILIES if task.startswith(item.name))
    returns = [item.rewards.sum() for item in collected(task, 100, grade="paper-like")]
    wanted = family.paper[LEVELS.index(task.split("-")[1])]
    assert np.mean(returns) == pytest.approx(wanted, abs=0.05 + float(np.std(returns)) / 5)
    assert np.std(returns) > 0.1


def test_random_actions_among_the_experts_cost_no_more_than_themselves() -> None:
    """It sees what was played and goes on with its own count: of 27 answers a random one is wrong 26 times."""
    returns = [item.rewards.sum() for item in collected("CountRecall-Easy", 40, epsilon=0.2)]
    assert np.mean(returns) == pytest.approx(1 - 2 * 0.2 * 26 / 27, abs=0.05)
    alike, other = (
        {item.actions.tobytes() for item in collected("MineSweeper-Easy", 200, epsilon=epsilon)}
        for epsilon in (None, 0.1)
    )
    assert len(alike) <= 106 < len(other)


def test_bad_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="grade must be 'expert' or 'paper-like', got 'best'"):
        collected("RepeatFirst-Easy", grade="best")
    for epsilon in (-0.1, 1.1, "some"):
        with pytest.raises(ConfigError, match="epsilon must lie between 0 and 1, or be None"):
            collected("RepeatFirst-Easy", epsilon=epsilon)
    with pytest.raises(ConfigError, match="'paper-like' draws a share of errors by itself"):
        collected("RepeatFirst-Easy", grade="paper-like", epsilon=0.1)
    with pytest.raises(UnknownNameError, match="did you mean 'grade'"):
        collected("RepeatFirst-Easy", grad="expert")
