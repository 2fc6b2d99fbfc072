"""Players of Pong and Breakout: reckon where the ball will land, move the paddle there, try the last moves beforehand.
They read the console's memory, and look a few steps ahead in a copy of the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.atari.emulator import FIRE, AtariEnv
from rate.envs.spec import Player
from rate.types import Tree

RESPONSE = (0.0, 10.0, 20.0, 22.0)
"""How far the paddle has gone so many steps after an action was played for one step."""
MOVES = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0), (-1, 1), (1, -1))
"""Pushes that are tried before the ball arrives."""

Ball = tuple[int, int]
"""Its depth and its side."""


@dataclass(frozen=True, kw_only=True)
class Court:
    """A game with a ball and a paddle. `depth` grows towards the paddle, `side` is along it."""

    depth: int
    side: int
    paddle: int
    """Bytes of the console's memory."""
    contact: int
    """Depth at which the paddle meets the ball."""
    early: int
    """Steps before the ball arrives at which the last moves are tried."""
    near: int
    """A ball that was returned is still nearer than this after a few steps."""
    middle: float
    """Ball minus paddle where the ball hits its middle."""
    less: int
    more: int
    """Actions that move the paddle."""
    walls: tuple[int, int]
    """Sides at which the ball bounces."""
    reckoned: int
    """Steps before the ball arrives from which on the paddle goes where it will land. Until then it stays beside the
    ball, which four frames show at once; where a far ball will land is hard to learn from them."""
    sharp: bool
    """Play the sharpest angle; otherwise any that keeps the ball."""


PONG = Court(
    depth=49,
    side=54,
    paddle=51,
    contact=184,
    early=1,
    near=70,
    middle=6.0,
    less=2,
    more=3,
    walls=(45, 206),
    reckoned=8,
    sharp=True,
)
BREAKOUT = Court(
    depth=101,
    side=99,
    paddle=72,
    contact=180,
    early=2,
    near=90,
    middle=10.0,
    less=3,
    more=2,
    walls=(55, 201),
    reckoned=5,
    sharp=False,
)


class PaddlePlayer:
    """One episode of one court."""

    def __init__(self, court: Court, env: AtariEnv, rng: np.random.Generator) -> None:
        self._court, self._env, self._rng = court, env, rng
        self._ball: Ball | None = None
        self._speed = 0, 0
        """Of the ball, in a step."""
        self._pushes = [0, 0, 0]
        """What was played in the last steps, the newest first: -1, 0 or 1."""
        self._place = 0.0
        """Where the ball will arrive."""
        self._plan: list[int] = []
        self._played = 0

    def __call__(self, observation: Tree, previous: Any) -> int:
        court, ram = self._court, self._env.ram
        self._remember(previous)
        before, ball = self._ball, seen(court, ram)
        self._ball = ball
        if ball is None:
            return FIRE
        if before is None:
            return 0
        speed = ball[0] - before[0], ball[1] - before[1]
        # At a bounce the way of a step is broken, and does not say where the next ones lead.
        steady, self._speed = abs(speed[1]) == abs(self._speed[1]), speed
        if speed[0] <= 0:
            self._plan = []
            return self._beside(ball)
        wait = (court.contact - ball[0]) / speed[0]
        if wait < 0:
            return 0
        if wait > court.reckoned:
            return self._beside(ball)
        if steady:
            self._place = folded(ball[1] + speed[1] * wait, *court.walls)
        move = self._last_moves(int(wait), previous)
        return self._approach(float(ram[court.paddle])) if move is None else move

    def _beside(self, ball: Ball) -> int:
        self._place = float(ball[1])
        return self._approach(float(self._env.ram[self._court.paddle]))

    def _remember(self, previous: Any) -> None:
        moved = {self._court.less: -1, self._court.more: 1}.get(-1 if previous is None else int(previous), 0)
        self._pushes = [moved, *self._pushes[:2]]

    def _approach(self, paddle: float) -> int:
        """A push moves the paddle by a fixed way: push if that leaves it nearer to the place."""
        whole = RESPONSE[-1]
        rest = paddle + sum(push * (whole - RESPONSE[age]) for age, push in enumerate(self._pushes, start=1))
        need = self._place - self._court.middle - rest
        if abs(need) <= whole / 2:
            return 0
        return self._court.more if need > 0 else self._court.less

    def _last_moves(self, wait: int, previous: Any) -> int | None:
        """The next of the moves that were tried and bring the ball back; None while it is far, or none does."""
        if wait > self._court.early:
            self._plan = []
            return None
        if not self._plan or previous != self._played:
            plan = self._choose(wait)
            if plan is None:
                return None
            self._plan = plan
        self._played = self._plan.pop(0)
        return self._played

    def _choose(self, wait: int) -> list[int] | None:
        """The sharpest return, or the first one in an order that is drawn."""
        rest = [0] * (wait + 3)
        pushes = {-1: self._court.less, 0: 0, 1: self._court.more}
        plans = [[*(pushes[push] for push in moves), *rest] for moves in MOVES]
        if self._court.sharp:
            worth = [self._worth(plan) for plan in plans]
            return plans[int(np.argmax(worth))] if max(worth) > 0 else None
        return next((plans[i] for i in self._rng.permutation(len(plans)) if self._worth(plans[i]) > 0), None)

    def _worth(self, plan: Sequence[int]) -> float:
        """Above 0 if the ball comes back."""
        court, ball, back = self._court, self._ball, False
        for glimpse in self._env.foresee(plan):
            before, ball = ball, seen(court, glimpse.ram)
            if before is None or ball is None:
                break
            if back:
                return 1.0 + abs(ball[1] - before[1])
            back = court.near < ball[0] < before[0]
            if back and not court.sharp:
                return 1.0
        return -1.0


def seen(court: Court, ram: NDArray[Any]) -> Ball | None:
    """Where the ball is; None while there is none."""
    ball = int(ram[court.depth]), int(ram[court.side])
    return ball if all(ball) else None


def folded(side: float, low: float, high: float) -> float:
    """Where a ball is that would be at `side` if there were no walls."""
    rest = (side - low) % (2 * (high - low))
    return low + min(rest, 2 * (high - low) - rest)


def pong(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Returns every ball as sharply as it can."""
    return PaddlePlayer(PONG, env, rng)


def breakout(env: AtariEnv, rng: np.random.Generator) -> Player:
    """Returns every ball, at an angle that is drawn."""
    return PaddlePlayer(BREAKOUT, env, rng)
