"""Players of Pong and Breakout: see where the ball will land, move the paddle there, try the last moves beforehand.
They read the console's memory, and look ahead in a copy of the game.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rate.envs.atari.emulator import FIRE, AtariEnv
from rate.envs.spec import Player
from rate.types import Tree

RESPONSE = (0.0, 10.0, 20.0, 22.0)
"""How far the paddle has gone so many steps after an action was played for one step."""
TRY = 4
"""Steps before the ball arrives at which the last moves are tried."""
HIT = 16
"""A ball that turns round so near to the paddle was hit by it, between two steps."""
AHEAD = 90
"""Steps that are looked ahead for the landing."""


@dataclass(frozen=True, kw_only=True)
class Court:
    """A game with a ball and a paddle. `depth` grows towards the paddle, `side` is along it."""

    depth: int
    side: int
    paddle: int
    """Bytes of the console's memory."""
    contact: int
    """Depth at which the paddle meets the ball."""
    near: int
    """A ball that was returned is still nearer than this after a few steps."""
    middle: float
    """Ball minus paddle where the ball hits its middle."""
    less: int
    more: int
    """Actions that move the paddle."""
    sharp: bool
    """Play the sharpest angle; otherwise any that keeps the ball."""


PONG = Court(depth=49, side=54, paddle=51, contact=184, near=70, middle=6.0, less=2, more=3, sharp=True)
BREAKOUT = Court(depth=101, side=99, paddle=72, contact=180, near=90, middle=10.0, less=3, more=2, sharp=False)


class PaddlePlayer:
    """One episode of one court."""

    def __init__(self, court: Court, env: AtariEnv, rng: np.random.Generator) -> None:
        self._court, self._env, self._rng = court, env, rng
        self._depth = 0
        self._pushes = [0, 0, 0]
        """What was played in the last steps, the newest first: -1, 0 or 1."""
        self._served = True
        """There was no ball a step before: a served one may come at once."""
        self._wait = 0
        """Steps until the ball arrives."""
        self._place: float | None = None
        """Where it will."""
        self._plan: list[int] = []
        self._played = 0

    def __call__(self, observation: Tree, previous: Any) -> int:
        court, ram = self._court, self._env.ram.astype(np.int64)
        depth, comes = int(ram[court.depth]), int(ram[court.depth]) > self._depth
        self._remember(previous)
        self._depth = depth
        if ram[court.side] == 0 or depth == 0:
            self._wait, self._plan, self._served = 0, [], True
            return FIRE
        if self._wait <= 0 and (self._served or not comes):
            self._wait, self._place = self._foresee_landing()
            self._served = False
        self._wait -= 1
        if self._place is None or self._wait < 0:
            return 0
        move = self._last_moves(previous)
        return self._approach(float(ram[court.paddle]), self._place) if move is None else move

    def _remember(self, previous: Any) -> None:
        moved = {self._court.less: -1, self._court.more: 1}.get(-1 if previous is None else int(previous), 0)
        self._pushes = [moved, *self._pushes[:2]]

    def _foresee_landing(self) -> tuple[int, float | None]:
        """In how many steps and where the ball will arrive; None where it does not."""
        court, steps, depths = self._court, 0, [self._depth, self._depth]
        for steps, glimpse in enumerate(self._env.foresee([0] * AHEAD), start=1):
            depths.append(int(glimpse.ram[court.depth]))
            comes, came = depths[-1] > depths[-2], depths[-2] > depths[-3]
            hit = came and not comes and depths[-2] > court.contact - HIT
            if hit or (comes and depths[-1] >= court.contact):
                return steps, float(glimpse.ram[court.side])
            if depths[-1] == 0 or glimpse.ram[court.side] == 0:
                break
        return steps, None

    def _approach(self, paddle: float, place: float) -> int:
        """A push moves the paddle by a fixed way: push if that leaves it nearer to the place."""
        whole = RESPONSE[-1]
        rest = paddle + sum(push * (whole - RESPONSE[age]) for age, push in enumerate(self._pushes, start=1))
        need = place - self._court.middle - rest
        if abs(need) <= whole / 2:
            return 0
        return self._court.more if need > 0 else self._court.less

    def _last_moves(self, previous: Any) -> int | None:
        """The next of the moves that were tried and bring the ball back; None while it is far, or none does."""
        if self._wait >= TRY:
            self._plan = []
            return None
        if not self._plan or previous != self._played:
            moves = [list(plan) for plan in itertools.product((0, self._court.less, self._court.more), repeat=2)]
            worth = [self._worth(plan) for plan in moves]
            if max(worth) < 0:
                return None
            self._plan = moves[int(np.argmax(worth))]
        self._played = self._plan.pop(0)
        return self._played

    def _worth(self, plan: Sequence[int]) -> float:
        """Above 0 if the ball comes back."""
        court = self._court
        trail = [glimpse.ram for glimpse in self._env.foresee([*plan, *[0] * (self._wait + 2)])]
        depths, sides = ([int(ram[byte]) for ram in trail[-2:]] for byte in (court.depth, court.side))
        if not court.near < depths[1] < depths[0]:
            return -1.0
        return 1.0 + (abs(sides[1] - sides[0]) if court.sharp else float(self._rng.random()))


def pong(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Returns every ball as sharply as it can."""
    return PaddlePlayer(PONG, env, rng)


def breakout(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Returns every ball, at an angle that is drawn."""
    return PaddlePlayer(BREAKOUT, env, rng)
