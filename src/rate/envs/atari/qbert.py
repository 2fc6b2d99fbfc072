"""The player of Q*bert: hops towards the nearest cube that needs paint, and tries two hops in a copy of the game.
The second is the next one's first, and what was tried is not emulated again: little is tried in vain.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.atari.emulator import AtariEnv
from rate.envs.spec import Player
from rate.types import Tree

X, Y, ROUND = 43, 67, 57
"""Bytes of the console's memory: where Q*bert is, and the round."""
COLOURS = ((21,), (52, 54), (83, 85, 87), (98, 100, 102, 104), (1, 3, 5, 7, 9), (32, 34, 36, 38, 40, 42))
"""Bytes with the colours of the cubes, by row."""
ROWS = len(COLOURS)
CENTRES = (16, 29, 41, 53, 65, 77, 93, 105, 117, 129, 141)
"""Where Q*bert stands, from left to right: each row begins half a cube before the one above it."""
TOP, HEIGHT = 25, 28
"""The uppermost row, and the way to the next."""
UP_RIGHT, DOWN_RIGHT, UP_LEFT, DOWN_LEFT = 2, 3, 4, 5
HOPS = {UP_RIGHT: (-1, 0), DOWN_RIGHT: (1, 1), UP_LEFT: (-1, -1), DOWN_LEFT: (1, 0)}
"""Action to the change of row and place in the row."""
PRESS, STILL, LAND, FALL = 2, 4, 10, 24
"""Steps that a hop is asked for, after which Q*bert has left his cube, has landed, and has fallen or is on a disc."""
PAINT = 25
"""Points for a cube that gets the colour of the round."""

Cube = tuple[int, int]
CUBES = [(row, place) for row in range(ROWS) for place in range(row + 1)]


@dataclass(frozen=True, kw_only=True)
class Hop:
    """A hop that was tried and survived."""

    path: list[int]
    """Actions from now on until it has ended."""
    end: Cube | None
    """None: Q*bert does not obey, since a round or a life is over."""
    ram: NDArray[np.uint8]


class QbertPlayer:
    """One episode."""

    def __init__(self, env: AtariEnv, rng: np.random.Generator) -> None:
        self._env = env
        self._luck = rng.random((ROWS, ROWS, len(HOPS) + UP_RIGHT))
        """Decides between hops that are as good, by cube and action."""
        self._goals: dict[int, int] = {}
        """Round to the colour that is asked for, which is seen where paint pays."""
        self._plan: list[int] = []

    def __call__(self, observation: Tree, previous: Any) -> int:
        if not self._plan:
            here = cube_at(self._env.ram)
            self._plan = [0] if here is None else self._choose(here)
        return self._plan.pop(0)

    def _choose(self, here: Cube) -> list[int]:
        """The first hop after which another one is possible, or at least one that is survived; else wait."""
        last = [0]
        for hop in self._hops([], here, self._env.ram):
            if hop.end is None:
                return [0] * STILL
            if any(self._hops(hop.path, hop.end, hop.ram)):
                return hop.path
            last = hop.path
        return last

    def _hops(self, path: list[int], here: Cube, ram: NDArray[np.uint8]) -> Iterator[Hop]:
        """Hops that are survived after a path: first those that lead soonest to a cube that needs paint."""
        goal = self._goals.get(int(ram[ROUND]))
        wanting = {cube for cube in CUBES if colour(ram, cube) != goal}
        far = {action: distance(neighbour(here, action), wanting) for action in HOPS}
        for action in sorted(HOPS, key=lambda action: (far[action], self._luck[here][action])):
            hop = self._try(path, here, action)
            if hop is not None:
                yield hop

    def _try(self, path: list[int], here: Cube, action: int) -> Hop | None:
        """A hop after a path; None if it is deadly, or ends nowhere."""
        land = LAND if exists(neighbour(here, action)) else FALL
        actions, lives, score = [*path, *[action] * PRESS, *[0] * (land - PRESS)], self._env.lives, 0.0
        for steps, glimpse in enumerate(self._env.foresee(actions), start=1):
            if glimpse.lives < lives:
                return None
            paid, score = glimpse.score - score, glimpse.score
            end = cube_at(glimpse.ram) if steps > len(path) + PRESS else None
            if end == here and steps >= len(path) + STILL:
                return Hop(path=actions[:steps], end=None, ram=glimpse.ram)
            if end is not None and end != here:
                if paid == PAINT:
                    self._goals[int(glimpse.ram[ROUND])] = colour(glimpse.ram, end)
                return Hop(path=actions[:steps], end=end, ram=glimpse.ram)
        return None


def colour(ram: NDArray[np.uint8], cube: Cube) -> int:
    return int(ram[COLOURS[cube[0]][cube[1]]])


def cube_at(ram: NDArray[np.uint8]) -> Cube | None:
    """The cube on which Q*bert stands; None in the air."""
    row, rest = divmod(int(ram[Y]) - TOP, HEIGHT)
    if rest or int(ram[X]) not in CENTRES:
        return None
    place, odd = divmod(CENTRES.index(int(ram[X])) - (ROWS - 1 - row), 2)
    return (row, place) if not odd and exists((row, place)) else None


def neighbour(cube: Cube, action: int) -> Cube:
    return cube[0] + HOPS[action][0], cube[1] + HOPS[action][1]


def exists(cube: Cube) -> bool:
    return 0 <= cube[0] < ROWS and 0 <= cube[1] <= cube[0]


def distance(start: Cube, goals: set[Cube]) -> int:
    """Hops from a cube to the nearest of some; a hop off the pyramid is worse than all others."""
    if not exists(start):
        return len(CUBES)
    queue, seen = deque([(start, 0)]), {start}
    while queue:
        cube, steps = queue.popleft()
        if cube in goals:
            return steps
        for action in HOPS:
            following = neighbour(cube, action)
            if exists(following) and following not in seen:
                seen.add(following)
                queue.append((following, steps + 1))
    return ROWS


def qbert(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Paints the pyramid and gets out of the way."""
    return QbertPlayer(env, rng)
