"""The player of Seaquest: saves divers, comes up for air, hunts, and tries its move in a copy of the game.
It makes another one if the boat would burst.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.atari.emulator import FIRE, AtariEnv
from rate.envs.spec import Player
from rate.types import Tree

X, Y, OXYGEN, DIVERS, BURST = 70, 97, 102, 62, 105
"""Bytes of the console's memory; the last counts while the boat bursts: the life is only taken when that is over."""
ENEMY, TAKEN, KIND, SHOWN = 30, 36, 44, 71
"""The first of four bytes, one for each lane: where its row of enemies begins, which places of the row are taken,
what the enemies are, and where a diver is, or in a lane of boats a torpedo."""
BOATS = 8
ROW = {4: 0, 2: 16, 1: 32}
"""Bit of `TAKEN` to the place in the row."""
LANES = (104, 82, 58, 36)
"""The depths from which the boat hits enemies and reaches divers, give or take `ALIGNED`."""
ALIGNED = 8
SCREEN = 160
WIDTH, DEPTH = (21, 134), (13, 108)
"""Where the boat can go."""
SURFACE, MIDDLE = DEPTH[0], (76, 66)
LOW = 20
"""Below so much oxygen it is time to go up: the way takes about twenty steps, or two units, and enemies are on it."""
FULL = 6
"""Divers that the boat holds."""
MOVES = {
    FIRE: (0, 0),
    10: (0, -1),
    11: (1, 0),
    12: (-1, 0),
    13: (0, 1),
    14: (1, -1),
    15: (-1, -1),
    16: (1, 1),
    17: (-1, 1),
}
"""FIRE alone, and with each of the eight directions."""
SPEED = 4
"""Of the boat, in a step."""
HOLD, AHEAD = 3, 4
"""Steps for which a move is made, and for which it must be survived."""

Place = tuple[int, int]


class SeaquestPlayer:
    """One episode."""

    def __init__(self, env: AtariEnv, rng: np.random.Generator) -> None:
        self._env = env
        self._luck: dict[int, float] = dict(zip(MOVES, rng.random(len(MOVES)).tolist(), strict=True))
        """Decides between moves that are as good."""
        self._left = 0
        self._move = FIRE

    def __call__(self, observation: Tree, previous: Any) -> int:
        if self._left == 0:
            self._move, self._left = self._choose(), HOLD
        self._left -= 1
        return self._move

    def _choose(self) -> int:
        """The move that leads nearest to the goal and is survived, or else for longest."""
        ram, way = self._env.ram, SPEED * HOLD
        (x, y), goal = place(ram), aim(ram)

        def far(move: int) -> float:
            dx, dy = MOVES[move]
            there = clipped(x + way * dx, WIDTH), clipped(y + way * dy, DEPTH)
            return apart(there, goal) + self._luck[move]

        survived: dict[int, int] = {}
        for move in sorted(MOVES, key=far):
            survived[move] = self._survived(move)
            if survived[move] == AHEAD:
                return move
        return max(survived, key=lambda move: survived[move])

    def _survived(self, move: int) -> int:
        """Steps of a move until the boat bursts."""
        lives = self._env.lives
        for steps, glimpse in enumerate(self._env.foresee([move] * AHEAD)):
            if glimpse.lives < lives or glimpse.ram[BURST]:
                return steps
        return AHEAD


def aim(ram: NDArray[np.uint8]) -> Place:
    """Where to go if nothing is in the way: up for air, to the nearest diver, at the nearest enemy, to the middle."""
    (x, y), held, oxygen = place(ram), int(ram[DIVERS]), int(ram[OXYGEN])
    filling = y <= SURFACE and oxygen < 60
    if filling or held >= FULL or (held and oxygen < LOW):
        return x, SURFACE
    if saved := divers(ram):
        return min(saved, key=lambda diver: apart(diver, (x, y)))
    if not (hunted := enemies(ram)):
        return MIDDLE
    # First to its depth, then towards it: the boat shoots where it last went.
    enemy = min(hunted, key=lambda enemy: apart(enemy, (x, y)) + abs(enemy[1] - y))
    return enemy if abs(enemy[1] - y) <= ALIGNED else (x, enemy[1])


def place(ram: NDArray[np.uint8]) -> Place:
    return int(ram[X]), int(ram[Y])


def apart(one: Place, other: Place) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def clipped(value: int, limits: Place) -> int:
    return max(limits[0], min(value, limits[1]))


def divers(ram: NDArray[np.uint8]) -> list[Place]:
    return [
        (int(ram[SHOWN + lane]), depth)
        for lane, depth in enumerate(LANES)
        if ram[SHOWN + lane] and ram[KIND + lane] != BOATS
    ]


def enemies(ram: NDArray[np.uint8]) -> list[Place]:
    """Those on the screen: rows come in from both sides."""
    return [
        (x, depth)
        for lane, depth in enumerate(LANES)
        for bit, offset in ROW.items()
        if ram[TAKEN + lane] & bit and (x := (int(ram[ENEMY + lane]) + offset) % 256) < SCREEN
    ]


def seaquest(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Shoots what comes, saves divers and breathes in time."""
    return SeaquestPlayer(env, rng)
