"""The player of Q*bert: hops to the nearest cube that may still pay, and tries every hop in a copy of the game."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from rate.envs.atari.emulator import AtariEnv
from rate.envs.spec import Player
from rate.types import Tree

X, Y = 43, 67
"""Bytes of the console's memory: where Q*bert is."""
TOP, ROW, HALF = (77, 25), 28, 13
"""The uppermost cube, the height of a row, half the width of a cube."""
ROWS = 6
UP_RIGHT, DOWN_RIGHT, UP_LEFT, DOWN_LEFT = 2, 3, 4, 5
HOPS = {UP_RIGHT: (-1, 0), DOWN_RIGHT: (1, 1), UP_LEFT: (-1, -1), DOWN_LEFT: (1, 0)}
"""Action to the change of row and place in the row."""
PRESS, LAND = 2, 9
"""Steps that a hop is asked for, and steps until it is over."""

Cube = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Hop:
    """A hop that was tried."""

    action: int
    gain: float
    safe: bool


class QbertPlayer:
    """One episode."""

    def __init__(self, env: AtariEnv, rng: np.random.Generator) -> None:
        self._env, self._rng = env, rng
        self._done: set[Cube] = set()
        """Cubes that paid nothing when they were last hopped on."""
        self._at: tuple[int, int] = (0, 0)
        self._plan: list[int] = []

    def __call__(self, observation: Tree, previous: Any) -> int:
        ram = self._env.ram
        at = int(ram[X]), int(ram[Y])
        rests, self._at = at == self._at, at
        if self._plan:
            return self._plan.pop(0)
        here = cube_at(*at)
        if not rests or here is None:
            return 0
        hop = self._choose(here)
        if hop is None:
            return 0
        self._note(neighbour(here, hop.action), hop)
        self._plan = [hop.action] * (PRESS - 1)
        return hop.action

    def _note(self, cube: Cube, hop: Hop) -> None:
        """Remember what is done; when all is, a new round begins."""
        (self._done.discard if hop.gain > 0 else self._done.add)(cube)
        if hop.gain >= 500 or len(self._done) >= ROWS * (ROWS + 1) // 2 - 1:
            self._done.clear()

    def _choose(self, here: Cube) -> Hop | None:
        """The best hop after which another one is possible; None: wait."""
        tried = [self._try([], action) for action in HOPS]
        alive = [hop for hop in tried if hop.safe]
        far = {hop.action: self._distance(neighbour(here, hop.action)) for hop in alive}
        luck = self._rng.random(len(HOPS) + UP_RIGHT)
        for hop in sorted(alive, key=lambda hop: (-hop.gain, far[hop.action], luck[hop.action])):
            path = [hop.action] * PRESS + [0] * (LAND - PRESS)
            if any(self._try(path, action).safe for action in HOPS):
                return hop
        return None

    def _try(self, path: list[int], action: int) -> Hop:
        lives, gain, safe = self._env.lives, 0.0, True
        for glimpse in self._env.foresee([*path, *[action] * PRESS, *[0] * (LAND - PRESS)]):
            gain, safe = glimpse.score, glimpse.lives >= lives
            if not safe:
                break
        return Hop(action=action, gain=gain, safe=safe)

    def _distance(self, start: Cube) -> int:
        """Hops from a cube to the nearest one that may still pay."""
        queue, seen = deque([(start, 0)]), {start}
        while queue:
            cube, steps = queue.popleft()
            if cube not in self._done:
                return steps
            for action in HOPS:
                following = neighbour(cube, action)
                if exists(following) and following not in seen:
                    seen.add(following)
                    queue.append((following, steps + 1))
        return ROWS


def cube_at(x: int, y: int) -> Cube | None:
    """The cube on which something stands; None in the air."""
    row, rest = divmod(y - TOP[1], ROW)
    cube = row, round((x - TOP[0] + HALF * row) / (2 * HALF))
    return cube if rest == 0 and exists(cube) else None


def neighbour(cube: Cube, action: int) -> Cube:
    return cube[0] + HOPS[action][0], cube[1] + HOPS[action][1]


def exists(cube: Cube) -> bool:
    return 0 <= cube[0] < ROWS and 0 <= cube[1] <= cube[0]


def qbert(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Paints the pyramid and gets out of the way."""
    return QbertPlayer(env, rng)
