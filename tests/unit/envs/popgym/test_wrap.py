"""The wrapped tasks are the package's, step by step, with its quirks put right."""

from __future__ import annotations

import random
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("popgym")

from rate.envs.popgym import FAMILIES, LEVELS
from rate.envs.popgym.wrap import Raw, make, package_env
from rate.errors import ConfigError, MissingExtraError

NAMES = [family.name for family in FAMILIES]
each_family = pytest.mark.parametrize("family", NAMES)


def native(env: gym.Env[Any, Any], action: Any) -> Any:
    """The package's form of a flattened action."""
    space = env.action_space
    if isinstance(space, gym.spaces.MultiDiscrete):
        return np.unravel_index(int(action), space.nvec)
    return action


@each_family
def test_rewards_and_observations_are_the_packages(family: str) -> None:
    ours, theirs = make(family, "Easy"), package_env(family, "Easy")
    ours.action_space.seed(3)
    seen, expected = ours.reset(seed=8)[0], theirs.reset(seed=8)[0]
    over = False
    while not over:
        np.testing.assert_array_equal(np.asarray(seen), np.asarray(expected))
        assert ours.observation_space.contains(seen)
        action = ours.action_space.sample()
        seen, reward, terminated, truncated, _ = ours.step(action)
        expected, reward_expected, ended, cut, _ = theirs.step(native(theirs, action))
        assert reward == reward_expected
        assert (terminated, terminated or truncated) == (bool(ended), bool(ended or cut))
        over = terminated or truncated


@pytest.mark.parametrize("level", LEVELS)
@each_family
def test_an_episode_ends_by_itself_within_the_limit_of_the_table(family: str, level: str) -> None:
    entry = next(item for item in FAMILIES if item.name == family)
    env, steps, over = make(family, level), 0, False
    env.action_space.seed(0)
    env.reset(seed=0)
    while not over:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        over, steps = terminated or truncated, steps + 1
    limit = entry.max_steps[LEVELS.index(level)]
    assert steps <= limit
    assert not truncated or steps == limit


def test_an_end_at_the_time_limit_is_no_truncation() -> None:
    """The pole falls in the very step in which the time runs out."""
    env = make("PositionOnlyCartPole", "Easy")
    env.reset(seed=0)
    env.unwrapped.num_steps = 199  # type: ignore[attr-defined]
    env.unwrapped.state = np.array([2.39, 9.0, 0.0, 0.0])  # type: ignore[attr-defined]
    assert env.step(1)[2:4] == (True, False)


@pytest.mark.parametrize("family", ["Battleship", "MineSweeper"])
def test_a_square_is_row_times_columns_plus_column(family: str) -> None:
    env = make(family, "Easy")
    side = int(env.unwrapped.action_space.nvec[0])  # type: ignore[attr-defined]
    assert env.action_space == gym.spaces.Discrete(side * side)
    env.reset(seed=0)
    grid = "guesses" if family == "Battleship" else "hidden_grid"
    before = getattr(env.unwrapped, grid).copy()
    row, column = 1, 2
    env.step(row * side + column)
    changed = np.argwhere(before != getattr(env.unwrapped, grid)).tolist()
    assert changed in ([[row, column]], [])
    assert changed or before[row, column] == 1  # a mine stays a mine


def test_mazes_leave_the_global_generators_alone() -> None:
    def states() -> tuple[Any, ...]:
        return random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[union-attr]

    env, before = make("LabyrinthEscape", "Easy"), states()
    first = env.reset(seed=4)[1]["maze"]
    second = env.reset()[1]["maze"]
    assert states() == before
    np.random.seed(0)  # what others do to them does not matter either
    assert (env.reset(seed=4)[1]["maze"], env.reset()[1]["maze"]) == (first, second)
    assert first != second


def test_the_first_observation_of_velocity_only_cartpole_is_the_position() -> None:
    env = make("VelocityOnlyCartPole", "Easy")
    seen = env.reset(seed=1)[0]
    x, x_velocity, angle, _ = env.unwrapped.state  # type: ignore[attr-defined]
    np.testing.assert_allclose(seen, [x, angle], rtol=1e-6)
    assert seen[0] != np.float32(x_velocity)
    answer = env.step(1)[0]
    np.testing.assert_allclose(answer, np.array(env.unwrapped.state)[[1, 3]], rtol=1e-6)  # type: ignore[attr-defined]
    assert np.isfinite(env.observation_space.high).all()  # type: ignore[attr-defined]


@each_family
def test_raw_observations_are_one_vector_and_can_be_turned_back(family: str) -> None:
    raw, plain = make(family, "Hard", observation="raw"), make(family, "Hard")
    assert isinstance(raw, Raw)
    assert isinstance(raw.observation_space, gym.spaces.Box)
    for seed in range(3):
        vector, seen = raw.reset(seed=seed)[0], plain.reset(seed=seed)[0]
        assert vector.dtype == np.float32
        assert raw.observation_space.contains(vector)
        np.testing.assert_array_equal(np.asarray(raw.native(vector)), np.asarray(seen))
        assert plain.observation_space.contains(raw.native(vector))


@each_family
def test_every_task_has_a_text_picture(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = make(family, "Medium", render_mode="ansi")
    env.reset(seed=0)
    first = env.render()
    env.step(env.action_space.sample())
    assert isinstance(first, str)
    assert first.startswith("reset\nobservation")
    assert "reward" in str(env.render())
    assert capsys.readouterr().out == ""
    assert make(family, "Medium").render() is None


def test_bad_arguments_and_actions_are_refused() -> None:
    with pytest.raises(ConfigError, match="observation must be 'spaces' or 'raw', got 'pixels'"):
        make("RepeatFirst", "Easy", observation="pixels")
    with pytest.raises(ConfigError, match="render_mode"):
        make("RepeatFirst", "Easy", render_mode="human")
    env = make("MineSweeper", "Easy")
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction, match=r"0 \.\. 15, got -1"):
        env.step(-1)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "popgym.envs", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rate-rl\[popgym\]'"):
        make("RepeatFirst", "Easy")


def test_without_the_maze_package_the_mazes_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import popgym.envs

    monkeypatch.delattr(popgym.envs, "LabyrinthEscapeEasy", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'rate-rl\[popgym\]'"):
        make("LabyrinthEscape", "Easy")
