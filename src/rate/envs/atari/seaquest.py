"""The player of Seaquest: shoots, saves divers, comes up for air, and tries every move in a copy of the game."""

from __future__ import annotations

from typing import Any

import numpy as np

from rate.envs.atari.emulator import FIRE, AtariEnv, Glimpse
from rate.envs.spec import Player
from rate.types import Tree

X, Y, OXYGEN, DIVERS, BURST = 70, 97, 102, 62, 105
"""Bytes of the console's memory; the last counts while the boat bursts: the life is only taken when that is over."""
SHOWN = {74: 46, 73: 66, 72: 86, 71: 106}
"""Byte with the place of a lane's diver to the depth of the lane."""
SURFACE, MIDDLE = 13, (76, 66)
LOW = 20
"""Below so much oxygen it is time to go up: the way takes about twenty steps, or two units, and enemies are on it."""
FULL = 6
"""Divers that the boat holds."""
MOVES = (FIRE, 10, 11, 12, 13, 14, 15, 16, 17)
"""FIRE alone, and with each of the eight directions."""
HOLD, AFTER = 3, 5
"""Steps for which a move is tried, and steps of plain fire that follow."""
DIVER = 15.0
DEATH = 1000.0
NEAR = 0.05
"""Points that a diver, a life and a pixel towards the goal are worth."""


class SeaquestPlayer:
    """One episode."""

    def __init__(self, env: AtariEnv, rng: np.random.Generator) -> None:
        self._env, self._rng = env, rng
        self._left = 0
        self._move = FIRE

    def __call__(self, observation: Tree, previous: Any) -> int:
        if self._left == 0:
            ram = self._env.ram.astype(np.int64)
            goal = self._goal(ram)
            worth = [self._worth(move, goal) + 1e-3 * self._rng.random() for move in MOVES]
            self._move, self._left = MOVES[int(np.argmax(worth))], HOLD
        self._left -= 1
        return self._move

    def _goal(self, ram: Any) -> tuple[int, int]:
        """Where to go if nothing else matters: up for air, to the nearest diver, to the middle."""
        x, y, divers = int(ram[X]), int(ram[Y]), int(ram[DIVERS])
        if divers and (divers >= FULL or ram[OXYGEN] < LOW):
            return x, SURFACE
        if y <= SURFACE and ram[OXYGEN] < 60:  # it is being filled
            return x, SURFACE
        shown = [(int(ram[byte]), depth) for byte, depth in SHOWN.items() if ram[byte]]
        return min(shown, key=lambda place: abs(place[0] - x) + abs(place[1] - y), default=MIDDLE)

    def _worth(self, move: int, goal: tuple[int, int]) -> float:
        lives, divers = self._env.lives, int(self._env.ram[DIVERS])
        last: Glimpse | None = None
        for last in self._env.foresee([move] * HOLD + [FIRE] * AFTER):
            if last.lives < lives or last.ram[BURST]:
                return -DEATH
        assert last is not None
        saved = max(0, int(last.ram[DIVERS]) - divers)
        away = abs(int(last.ram[X]) - goal[0]) + abs(int(last.ram[Y]) - goal[1])
        return last.score + DIVER * saved - NEAR * away


def seaquest(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Shoots what comes, saves divers and breathes in time."""
    return SeaquestPlayer(env, rng)
