"""The expert finds colours, knows only what it has seen, and is worse in the noisy grade."""

from __future__ import annotations

import numpy as np
import pytest

from rate.envs.memory_maze.env import MemoryMazeEnv
from rate.envs.memory_maze.navigator import Navigator
from rate.envs.memory_maze.tasks import GRADES, player
from rate.errors import ConfigError


def play(maze: MemoryMazeEnv, seed: int, steps: int, lapse: float = 0.0) -> tuple[list[int], float]:
    """Its actions, and what it earned."""
    image, _ = maze.reset(seed=seed)
    acts, actions, earned = Navigator(maze, np.random.default_rng(0), lapse), list[int](), 0.0
    for _ in range(steps):
        actions.append(acts(image, actions[-1] if actions else None))
        image, reward, *_ = maze.step(np.int64(actions[-1]))
        earned += reward
    return actions, earned


def test_it_finds_colours_and_worse_where_it_forgets_itself(maze: MemoryMazeEnv) -> None:
    maze.maze.picture = lambda: np.zeros((64, 64, 3), np.uint8)  # type: ignore[method-assign]
    try:
        good, noisy = (
            sum(play(maze, seed, 400, np.mean(GRADES[grade]))[1] for seed in (0, 4)) for grade in ("good", "noisy")
        )
    finally:
        del maze.maze.picture
    assert good >= 12 and noisy <= good / 2


def test_what_it_has_not_seen_changes_nothing(maze: MemoryMazeEnv) -> None:
    maze.reset(seed=0)
    acts = Navigator(maze, np.random.default_rng(0))
    acts._look()
    hidden = np.argwhere(maze.maze.free & ~acts._seen)[:, ::-1]
    assert len(hidden) > 1 and acts._seen.any()
    target = maze.maze.targets[maze.maze.target]
    target[:] = hidden[0]
    elsewhere = acts._steer(acts._aim())
    target[:] = hidden[-1]
    assert acts._steer(acts._aim()) == elsewhere
    assert not acts._seen[0, 0]  # a corner of the outer wall, which the wall itself hides


def test_an_unknown_grade_is_refused(maze: MemoryMazeEnv) -> None:
    with pytest.raises(ConfigError, match="grade must be one of good, noisy, got 'bad'"):
        player(maze, np.random.default_rng(0), grade="bad")
