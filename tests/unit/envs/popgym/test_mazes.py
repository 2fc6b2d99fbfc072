"""Labyrinths: the map that is drawn from 3x3 views, and players that get out of them and around in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("popgym")

from rate.envs.demonstrate import distracted, episode
from rate.envs.popgym import mazes, wrap
from rate.types import Trajectory

PLAYERS: dict[str, Any] = {
    "LabyrinthEscape": mazes.labyrinth_escape,
    "LabyrinthExplore": mazes.labyrinth_explore,
}


def play(family: str, level: str, episodes: int, epsilon: float = 0.0) -> list[Trajectory]:
    env, player = wrap.make(family, level), PLAYERS[family]

    def careless(env: Any, rng: np.random.Generator) -> Any:
        return distracted(player(env, rng), env.action_space, rng, epsilon)

    return [episode(env, careless if epsilon else player, seed) for seed in range(episodes)]


def mean_return(trajectories: list[Trajectory]) -> float:
    return float(np.mean([trajectory.rewards.sum() for trajectory in trajectories]))


def places(maze: mazes.Map, start: tuple[int, int], true: Any) -> dict[int, tuple[int, int]]:
    """Where the drawn cells are in the true maze: the steps right and down of the map, solved for both."""
    right, down = maze._steps[1], maze._steps[3]
    rows, columns = true.shape
    return {
        maze.start + (row - start[0]) * down + (column - start[1]) * right: (row, column)
        for row in range(rows)
        for column in range(columns)
    }


@pytest.mark.parametrize("seed", range(8))
def test_the_map_follows_any_walk(seed: int) -> None:
    """Starts at all four borders; the walk bumps into walls and comes back to the start."""
    env: Any = wrap.make("LabyrinthEscape", "Easy")
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    game, maze, previous = env.unwrapped, mazes.Map(11), None
    start = tuple(game.position)
    for _ in range(200):
        maze.update(observation, previous)
        where = places(maze, start, game.maze.grid)
        assert where[maze.position] == tuple(game.position)
        for cell, (row, column) in where.items():
            wall = game.maze.grid[row, column] == mazes.PACKAGE_WALL
            assert maze.cells[cell] in (mazes.UNKNOWN, mazes.WALL if wall else mazes.FREE)
        previous = int(env.action_space.sample())
        observation, _, terminated, truncated, _ = env.step(previous)
        if terminated or truncated:
            break


def test_all_borders_are_tried() -> None:
    env: Any = wrap.make("LabyrinthEscape", "Easy")
    borders = set()
    for seed in range(8):
        env.reset(seed=seed)
        row, column = env.unwrapped.position
        borders.add("top" if row == 0 else "bottom" if row == 10 else "left" if column == 0 else "right")
    assert len(borders) == 4


@pytest.mark.parametrize("seed", range(8))
def test_the_exit_is_among_the_possible_ones(seed: int) -> None:
    env: Any = wrap.make("LabyrinthEscape", "Easy")
    observation, _ = env.reset(seed=seed)
    maze = mazes.Map(11)
    maze.update(observation, None)
    where = places(maze, tuple(env.unwrapped.position), env.unwrapped.maze.grid)
    assert env.unwrapped.maze.end in {where.get(cell) for cell in maze.exits()}


@pytest.mark.parametrize(
    ("family", "level", "least"),
    [
        ("LabyrinthEscape", "Easy", 0.955),
        ("LabyrinthEscape", "Hard", 0.87),
        ("LabyrinthExplore", "Easy", 0.96),
        ("LabyrinthExplore", "Hard", 0.84),
    ],
)
def test_returns(family: str, level: str, least: float) -> None:
    trajectories = play(family, level, 6)
    assert all(trajectory.terminations[-1] for trajectory in trajectories), "ran out of time"
    assert mean_return(trajectories) > least


def test_exploring_enters_each_corridor_at_most_twice() -> None:
    """In a maze without loops nobody needs more than two steps per cell."""
    for trajectory in play("LabyrinthExplore", "Medium", 4):
        new = int((trajectory.rewards > 0).sum())
        assert len(trajectory.rewards) < 2 * new


@pytest.mark.parametrize("family", PLAYERS)
def test_players_are_deterministic(family: str) -> None:
    first, second = play(family, "Easy", 3), play(family, "Easy", 3)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)


@pytest.mark.parametrize("family", PLAYERS)
def test_players_find_back_after_random_steps(family: str) -> None:
    """A random walk needs about ten times as many steps."""
    trajectories = play(family, "Easy", 6, epsilon=0.3)
    assert all(trajectory.terminations[-1] for trajectory in trajectories)
    assert mean_return(trajectories) > 0.85


@pytest.mark.parametrize("family", PLAYERS)
def test_players_see_what_a_policy_sees(family: str) -> None:
    """An episode played from its record alone, with the environment in another maze, gives the same actions."""
    (record,) = play(family, "Easy", 1)
    env = wrap.make(family, "Easy")
    env.reset(seed=99)
    act, previous = PLAYERS[family](env, np.random.default_rng(5)), None
    for observation, action in zip(record.observations, record.actions, strict=False):
        previous = act(observation, previous)
        assert previous == action
