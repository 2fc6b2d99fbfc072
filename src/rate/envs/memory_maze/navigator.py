"""The expert of Memory Maze: it explores what it has not seen, remembers where colours are, walks shortest paths.

It is told where it is and what stands in the cells before it, as far as the picture shows them; no more.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.memory_maze.env import FORWARD, FORWARD_LEFT, FORWARD_RIGHT, LEFT, NOOP, RIGHT, MemoryMazeEnv
from rate.types import Tree

Cell = tuple[int, int]
"""Column and row."""

HALF_VIEW = np.deg2rad(36.0)
SIGHT = 6.0
"""Half the width of what it sees, and how far it can tell what stands there, in cells."""
RAYS = np.linspace(-HALF_VIEW, HALF_VIEW, 25)
RANGE = np.arange(0.0, SIGHT, 0.2)
AHEAD = 5
"""Cells of a path that may be cut short by walking straight."""
CLEAR = 0.33
"""Cells that it keeps from walls to the left and the right."""
STEER, TURN = np.deg2rad(9.0), np.deg2rad(50.0)
"""It turns a sixth of a right angle in a step: nearer than half of it is straight on; beyond the other it stands."""
SIDES = ((1, 0), (0, 1), (-1, 0), (0, -1))


class Navigator:
    """One episode. `lapse` is the share of its steps at which it does anything.

    Each is drawn anew. Of errors that are held, who imitates learns to hold: after a pause the next step of the data is
    a pause too, so that a policy stands still for ever.
    """

    def __init__(self, env: MemoryMazeEnv, rng: np.random.Generator, lapse: float = 0.0) -> None:
        self._maze, self._rng, self._lapse = env.maze, rng, lapse
        self._seen = np.zeros(self._maze.free.shape, np.bool_)
        self._path: list[Cell] = []
        self._planned: tuple[Any, ...] = ()
        self._left, self._held = 0, NOOP
        self._before, self._stuck = self._maze.place, 0

    def __call__(self, observation: Tree, previous: Any) -> int:
        self._look()
        if self._left == 0 and self._rng.random() < self._lapse:
            self._forget(1)
        self._free_itself(previous)
        if self._left > 0:
            self._left -= 1
            return self._held
        return self._steer(self._aim())

    def _look(self) -> None:
        """Remember the cells between here and the first wall, in every direction of the picture."""
        place, (x, y) = self._maze.place, self._maze.heading
        angles = np.arctan2(y, x) + RAYS
        points = place + RANGE[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], -1)
        columns, rows = np.clip(points.round().astype(int), 0, np.array(self._seen.shape[::-1]) - 1).reshape(-1, 2).T
        free = self._maze.free[rows, columns].reshape(len(RANGE), -1)
        reached = np.concatenate([np.ones((1, free.shape[1]), np.bool_), free.cumprod(0)[:-1].astype(np.bool_)])
        self._seen[rows[reached.ravel()], columns[reached.ravel()]] = True

    def _forget(self, steps: int) -> None:
        self._left, self._held = steps, int(self._rng.integers(6))

    def _free_itself(self, previous: Any) -> None:
        """A ball that rolls against a wall stays there: try something else."""
        place = self._maze.place
        rolled = previous in (FORWARD, FORWARD_LEFT, FORWARD_RIGHT)
        self._stuck = self._stuck + 1 if rolled and np.abs(place - self._before).max() < 0.03 else 0
        self._before = place
        if self._stuck >= 4 and self._left == 0:
            self._forget(3)
            self._stuck = 0

    def _aim(self) -> NDArray[np.float64]:
        """The farthest cell of the path to which nothing is in the way."""
        here = self._cell(self._maze.place)
        target = self._cell(self._maze.targets[self._maze.target])
        goal = target if self._seen[target[1], target[0]] else None
        wanted = here, goal, int(self._seen.sum())
        if wanted != self._planned:
            self._planned, self._path = wanted, self._plan(here, goal)
        for cell in reversed(self._path[1:AHEAD]):
            if self._is_clear(np.array(cell, float)):
                return np.array(cell, float)
        return np.array(self._path[min(1, len(self._path) - 1)], float)

    def _plan(self, here: Cell, goal: Cell | None) -> list[Cell]:
        """The shortest way through cells that it knows; without a goal to the nearest one that it does not know."""
        came: dict[Cell, Cell] = {here: here}
        queue = deque([here])
        while queue:
            cell = queue.popleft()
            if cell == goal or not self._seen[cell[1], cell[0]]:
                return _way(came, cell)
            for x, y in SIDES:
                following = cell[0] + x, cell[1] + y
                if following not in came and self._may_enter(following, goal is None):
                    came[following] = cell
                    queue.append(following)
        return [here]

    def _may_enter(self, cell: Cell, explores: bool) -> bool:
        return bool(self._maze.free[cell[1], cell[0]]) if self._seen[cell[1], cell[0]] else explores

    def _is_clear(self, goal: NDArray[np.float64]) -> bool:
        """Whether it would touch no wall, and enter nothing unknown but the goal, if it rolled straight there."""
        way = goal - self._maze.place
        far = float(np.hypot(*way))
        aside = CLEAR * np.array([-way[1], way[0]]) / max(far, 1e-6)
        points = self._maze.place + np.linspace(0, 1, int(far / 0.2) + 2)[:, None] * way
        columns, rows = np.concatenate([points, points + aside, points - aside]).round().astype(int).T
        known = self._seen[rows, columns] & self._maze.free[rows, columns]
        return bool((known | ((columns == goal[0]) & (rows == goal[1]))).all())

    def _steer(self, aim: NDArray[np.float64]) -> int:
        (x, y), way = self._maze.heading, aim - self._maze.place
        error = np.arctan2(x * way[1] - y * way[0], x * way[0] + y * way[1])
        if abs(error) < STEER:
            return FORWARD
        if abs(error) < TURN:
            return FORWARD_LEFT if error > 0 else FORWARD_RIGHT
        return LEFT if error > 0 else RIGHT

    @staticmethod
    def _cell(place: NDArray[np.float64]) -> Cell:
        column, row = place.round().astype(int)
        return int(column), int(row)


def _way(came: dict[Cell, Cell], cell: Cell) -> list[Cell]:
    path = [cell]
    while came[path[-1]] != path[-1]:
        path.append(came[path[-1]])
    return path[::-1]
