"""Players of POPGym's labyrinths: they draw a map of what they see, and walk to the most promising cell of it.
They see what a policy sees, so that a policy can imitate them: observations and the actions before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.spec import Player
from rate.types import Array

PACKAGE_WALL, PACKAGE_START, PACKAGE_GOAL = 1, 2, 3
"""Cells in an observation."""
WALL, UNKNOWN, FREE = range(3)
"""Cells in a map."""
GREED = 1.0
"""How much a step of the way that is guessed counts against a step of the way that is known."""


def labyrinth_escape(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Go to the new cell with the shortest way: to it over known cells, and on to a possible exit over unknown ones."""
    maze = Map(_side(env))

    def act(observation: Array, previous: Any) -> int:
        maze.update(observation, previous)
        ahead = maze.distances([maze.goal] if maze.goal is not None else maze.exits())
        known = maze.ways()
        new = [cell for cell in known if cell not in maze.visited and cell in ahead]
        return known[min(new, key=lambda cell: (known[cell][0] + GREED * ahead[cell], ahead[cell]))][1] if new else 0

    return act


def labyrinth_explore(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Go to the nearest new cell, the first of equals. As mazes have no loops, every way is walked at most twice."""
    maze = Map(_side(env))

    def act(observation: Array, previous: Any) -> int:
        maze.update(observation, previous)
        known = maze.ways(to_new=True)
        new = [cell for cell in known if cell not in maze.visited]
        return known[new[0]][1] if new else 0

    return act


def _side(env: gym.Env[Any, Any]) -> int:
    """Of the square maze, with its outer walls."""
    game: Any = env.unwrapped
    return 2 * int(game.maze_dims[0]) + 1


class Map:
    """What is known of a maze, turned such that the start is in its first row: the exit is then in its last row.

    How far the start is from the sides is not known, so that the map is twice as wide as the maze. Rooms are in odd
    rows; from the start they are an even number of columns away; between four rooms there is always a wall.
    """

    def __init__(self, side: int) -> None:
        self.side, self.width = side, 2 * side + 1
        self.start = self.position = self.width + side
        """Cells are numbers row by row, below one more row of walls."""
        self.cells = [WALL] * ((side + 2) * self.width)
        self.visited = {self.start}
        self.goal: int | None = None
        self._left, self._right = 3 - side, side - 3
        for row in range(1, side):
            for column in range(self._left, self._right + 1):
                if (row % 2 or column % 2 == 0) and (row < side - 1 or column % 2 == 0):
                    self.cells[self.start + row * self.width + column] = UNKNOWN

    def update(self, observation: Array, previous: Any) -> None:
        """Follow the step that was made, and draw what is seen now."""
        view = np.asarray(observation[:9]).reshape(3, 3)
        if previous is None:
            self._turn(view)
        else:
            there = self.position + self._steps[int(previous)]
            self.position = there if self.cells[there] == FREE else self.position
        self.visited.add(self.position)
        # Views are cut at the upper and left border of the maze, and filled up with walls at their ends.
        row, column = self._own if self.position == self.start else (1, 1)
        for i in range(3 if row else 2):
            for j in range(3 if column else 2):
                cell = self.position + (i - row) * self._steps[3] + (j - column) * self._steps[1]
                self._draw(cell, int(view[i, j]))

    def _turn(self, view: Array) -> None:
        """See from the first view at which border the start is: the only way leads away from it."""
        row, column = (int(at) for at in np.argwhere(view == PACKAGE_START)[0])
        self._own = row, column
        inwards = self.width
        if row == 0 or (column == 1 and view[0, 1] != PACKAGE_WALL):
            right, down = 1, inwards if row == 0 else -inwards
        else:
            right, down = inwards if column == 0 else -inwards, 1
        self._steps = (-right, right, -down, down)

    def _draw(self, cell: int, seen: int) -> None:
        if seen == PACKAGE_WALL:
            self.cells[cell] = WALL
            return
        self.cells[cell] = FREE
        self.goal = cell if seen == PACKAGE_GOAL else self.goal
        column = (cell - self.start + self.side) % self.width - self.side
        for outside in (*range(self._left, column + 3 - self.side), *range(column + self.side - 2, self._right + 1)):
            for row in range(1, self.side):
                self.cells[self.start + row * self.width + outside] = WALL
        self._left, self._right = max(self._left, column + 3 - self.side), min(self._right, column + self.side - 3)

    def exits(self) -> list[int]:
        """The cells of the last row where the exit may be."""
        first = self.start + (self.side - 1) * self.width
        return [cell for cell in range(first + self._left, first + self._right + 1) if self.cells[cell] == UNKNOWN]

    def ways(self, to_new: bool = False) -> dict[int, tuple[int, int]]:
        """The cells that can be reached over known ones, nearest first -> (distance, first action).

        `to_new`: no further than the first one that was not visited.
        """
        found = {self.position: (0, 0)}
        for cell in (queue := [self.position]):
            if to_new and cell not in self.visited:
                break
            distance, first = found[cell]
            for action, step in enumerate(self._steps):
                if (there := cell + step) not in found and self.cells[there] == FREE:
                    found[there] = distance + 1, first if distance else action
                    queue.append(there)
        return found

    def distances(self, sources: Iterable[int]) -> dict[int, int]:
        """Of all cells to the nearest source, if all that is not known to be a wall were free."""
        found = dict.fromkeys(sources, 0)
        for cell in (queue := list(found)):
            for step in self._steps:
                if (there := cell + step) not in found and self.cells[there] != WALL:
                    found[there] = found[cell] + 1
                    queue.append(there)
        return found
