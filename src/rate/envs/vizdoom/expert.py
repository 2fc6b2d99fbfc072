"""The scripted player: it chases items that are on the screen, of the colour of the pillar, and no others.

It tries a few dozen ways of turning and walking in a model of the player's motion, and plays the first action of the
best. What it does not see it does not know, so that what it does can be learnt from pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.vizdoom.engine import BUTTONS
from rate.envs.vizdoom.env import TwoColorsEnv
from rate.envs.vizdoom.scenario import SKIP, WALL
from rate.types import Tree

LEFT, RIGHT, FORWARD, FORWARD_LEFT, FORWARD_RIGHT = range(len(BUTTONS))
HORIZON = 24
"""Steps that are looked ahead."""
TURN, SLOW_TURN, SLOW_TICS = 360 / 102.4, 360 / 204.8, 5
"""Degrees of a tic; the first tics of a turn are slower."""
THRUST, FRICTION = 0.78125, 0.90625
"""Speed that a tic of walking adds, and the share that is left after it."""
SIGHT = 52.0
"""Degrees to each side that the screen shows."""
TAKE, HURT, BUMP = 34.0, 41.0, 60.0
"""How near, along both axes, a good item is taken for sure, a bad one perhaps, and the pillar is in the way."""
PACE, TURNING = 15.0, 6.5
"""Units and degrees of a step, for the time that is left to an item beyond the horizon."""
SOON = 0.97
"""Worth of an item, for each step that it is later."""
WRONG, BUMPED, REVERSED = 1.3, 1.0, 0.1
"""What a bad item, the pillar, and turning back cost."""
PATIENCE = 30.0
"""Steps without a good item after which a bad one costs half as much: else some ways would stay barred for ever."""
DETOUR = 25.0
"""Steps that it takes to walk around a bad item that bars the straight way."""

Points = NDArray[np.float64]


def _plans() -> list[list[int]]:
    """Turn for a while, standing or walking, then walk; or walk around something."""
    plans = [[FORWARD]]
    for turns in (1, 2, 3, 4, 5, 6, 8, 10, 12, 14):
        plans += [[turn] * turns for turn in (LEFT, RIGHT, FORWARD_LEFT, FORWARD_RIGHT)]
    for turns in (2, 4, 6):
        plans += [[FORWARD_LEFT] * turns + [FORWARD_RIGHT] * turns, [FORWARD_RIGHT] * turns + [FORWARD_LEFT] * turns]
    return [(plan + [FORWARD] * HORIZON)[:HORIZON] for plan in plans]


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Where the plans lead from a standing start at the origin, facing along x."""

    first: NDArray[np.int64]
    """(P,) The action that a plan begins with."""
    places: Points
    """(P, HORIZON, 2)"""
    heading: Points
    """(P,) Degrees at the end."""


@cache
def paths(held: int) -> Paths:
    """The motion of all plans; `held` tics of a turn have passed already."""
    plans = np.array(_plans())
    places, heading = np.zeros((len(plans), HORIZON, 2)), np.zeros(len(plans))
    for row, plan in enumerate(plans):
        place, speed, turned = np.zeros(2), np.zeros(2), held
        for step, action in enumerate(plan):
            left, right, forward = BUTTONS[action]
            for _ in range(SKIP):
                turned = turned + 1 if left or right else 0
                heading[row] += (left - right) * (SLOW_TURN if turned <= SLOW_TICS else TURN)
                angle = np.radians(heading[row])
                speed = speed + forward * THRUST * np.array([np.cos(angle), np.sin(angle)])
                place, speed = place + speed, speed * FRICTION
            places[row, step] = place
    return Paths(first=plans[:, 0], places=places, heading=heading)


COASTING = np.cumsum(FRICTION ** np.arange(SKIP * HORIZON))[SKIP - 1 :: SKIP]
"""How far the speed that one has carries, after each step."""


class Chaser:
    """One episode."""

    def __init__(self, env: TwoColorsEnv, good: Sequence[str]) -> None:
        self._env, self._good = env, tuple(f"{colour.capitalize()}Item" for colour in good)
        self._place, self._held, self._turn = np.zeros(2), 0, RIGHT
        self._taken, self._since = 0.0, 0

    def __call__(self, observation: Tree, previous: Any) -> int:
        state = self._env.state
        red, green, x, y, angle = map(float, state.game_variables)
        place = np.array([x, y])
        speed = self._moved(place, previous, {"RedItem": red, "GreenItem": green})
        good, bad, pillars = self._seen(state.objects, place, angle)
        if not len(good):
            return self._turn
        tried, turned = paths(min(self._held, SLOW_TICS)), np.radians(angle)
        rotation = np.array([[np.cos(turned), np.sin(turned)], [-np.sin(turned), np.cos(turned)]])
        places = np.clip(place + tried.places @ rotation + COASTING[:, None] * speed, 16 - WALL, WALL - 16)
        worth = self._worth(places, good, bad) + _later(place, places, angle + tried.heading, good, bad)
        worth -= BUMPED * (SOON ** _first(places, pillars, BUMP)).sum(1)
        back = {LEFT: (RIGHT, FORWARD_RIGHT), RIGHT: (LEFT, FORWARD_LEFT)}[self._turn]
        return int(tried.first[np.argmax(worth - REVERSED * np.isin(tried.first, back))])

    def _moved(self, place: Points, previous: Any, counts: Mapping[str, float]) -> Points:
        """The speed after the last step; and for how long a turn is held, and nothing good was found."""
        taken = sum(counts[name] for name in self._good)
        self._since, self._taken = (self._since + 1 if taken == self._taken else 0), taken
        step, self._place = place - self._place, place
        if previous is None:
            return np.zeros(2)
        left, right, _ = BUTTONS[int(previous)]
        self._held = self._held + SKIP if left or right else 0
        self._turn = LEFT if left else RIGHT if right else self._turn
        return step * FRICTION / (1 + 1 / FRICTION)

    def _seen(self, objects: Any, place: Points, angle: float) -> tuple[Points, Points, Points]:
        """Good items, bad items and the pillar, as far as they are on the screen and not behind the pillar."""
        kinds: tuple[list[Any], list[Any], list[Any]] = [], [], []
        for one in objects:
            at = (one.position_x, one.position_y)
            if one.name.endswith("Item"):
                kinds[0 if one.name in self._good else 1].append(at)
            elif "Pillar" in one.name:
                kinds[2].append(at)
        good, bad, pillars = (np.array(kind, np.float64).reshape(-1, 2) for kind in kinds)
        good, bad = (items[_in_sight(items, place, angle, pillars)] for items in (good, bad))
        return good, bad, pillars

    def _worth(self, places: Points, good: Points, bad: Points) -> Points:
        """(P,) What is taken on the way: the sooner, the more it counts."""
        wrong = WRONG * 0.5 ** (self._since / PATIENCE)
        worth: Points = (SOON ** _first(places, good, TAKE)).sum(1) - wrong * (SOON ** _first(places, bad, HURT)).sum(1)
        return worth


def _later(place: Points, places: Points, heading: Points, good: Points, bad: Points) -> Points:
    """(P,) What a good item is worth that would be next."""
    away = good - places[:, -1, None]
    bearing = np.degrees(np.arctan2(away[..., 1], away[..., 0])) - heading[:, None]
    steps = HORIZON + np.hypot(away[..., 0], away[..., 1]) / PACE + np.abs(_turned(bearing)) / TURNING
    steps += DETOUR * _barred(place, good, bad)
    steps[np.isfinite(_first(places, good, TAKE))] = np.inf
    worth: Points = (SOON**steps).max(1)
    return worth


def _barred(place: Points, good: Points, bad: Points) -> NDArray[np.bool_]:
    """(N,) Whether a bad item lies near the straight way to a good one."""
    way, away = good - place, bad - place
    share = np.clip((way @ away.T) / np.maximum((way**2).sum(1), 1.0)[:, None], 0, 1)
    beside = away - share[..., None] * way[:, None]
    barred: NDArray[np.bool_] = (np.hypot(beside[..., 0], beside[..., 1]) < HURT).any(1)
    return barred


def _turned(degrees: Points) -> Points:
    return (degrees + 180) % 360 - 180


def _in_sight(items: Points, place: Points, angle: float, pillars: Points) -> NDArray[np.bool_]:
    """Which of these are on the screen, and not hidden by the pillar."""
    away = items - place
    distance, bearing = np.hypot(away[:, 0], away[:, 1]), np.degrees(np.arctan2(away[:, 1], away[:, 0]))
    seen: NDArray[np.bool_] = np.abs(_turned(bearing - angle)) <= SIGHT
    for pillar in pillars - place:
        far, at = np.hypot(*pillar), np.degrees(np.arctan2(pillar[1], pillar[0]))
        hides = np.degrees(np.arctan2(40.0, far))
        seen &= (distance < far) | (np.abs(_turned(bearing - at)) > hides)
    return seen


def _first(places: Points, items: Points, near: float) -> Points:
    """(P, N) The step at which a path comes near to an item; infinite where it does not."""
    close: NDArray[np.bool_] = np.all(np.abs(places[:, :, None] - items) < near, axis=-1)
    return np.where(close.any(axis=1), close.argmax(axis=1), np.inf)
