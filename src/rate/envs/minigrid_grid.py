"""The world of Minigrid-Memory in NumPy: many episodes at once, equal to the `minigrid` package in every number.
One corridor, a room with an object at its left end, a junction with two objects at its right end.

Cells are named by the numbers that the package gives to objects. Views are [column, row] as in the package: the agent
stands at [1, 2] and looks towards row 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from rate.envs.spec import BatchStep
from rate.errors import ConfigError, MissingExtraError
from rate.types import Array, Spaces, tree_map

LEFT, RIGHT, FORWARD = range(3)
"""Actions."""
EAST, SOUTH, WEST, NORTH = range(4)
"""Directions, in the order in which turning right visits them."""
UNSEEN, EMPTY, WALL, KEY, BALL, AGENT = 0, 1, 2, 5, 6, 10
OBJECTS, COLOURS, STATES = 11, 6, 3
"""How many of each the package knows."""

TILE = 28
"""Pixels of a cell: three of them make the paper's images of 84 x 84."""
VIEW = 3
SMALLEST, LARGEST = 11, 501

_START, _UPPER, _LOWER = 11, 12, 13
"""Places of a plan where an episode puts an object."""
_MARGIN = 2
"""Cells around a plan, because a view reaches so far."""


@dataclass(frozen=True, kw_only=True)
class MinigridTask:
    """What decides an episode besides its seed."""

    size: int = 41
    """Cells along each side of the grid; odd."""
    observation: str = "symbolic"
    """`symbolic`: object, colour and state of each cell in view; `rgb`: the view as an image of 84 x 84."""
    limit: str = "solvable"
    """`solvable`: 4 x size steps, twice what the expert needs; `paper`: 500 steps, reward counted as if 845."""

    def __post_init__(self) -> None:
        if type(self.size) is not int or not (SMALLEST <= self.size <= LARGEST and self.size % 2):
            raise ConfigError(
                f"minigrid-memory: size must be an odd number from {SMALLEST} to {LARGEST}, got {self.size!r}"
            )
        for name, known in (("observation", ("symbolic", "rgb")), ("limit", ("solvable", "paper"))):
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"minigrid-memory: {name} must be {known[0]!r} or {known[1]!r}, got {getattr(self, name)!r}"
                )

    @property
    def max_steps(self) -> int:
        """Episodes are cut here."""
        return 4 * self.size if self.limit == "solvable" else 500

    @property
    def reward_steps(self) -> int:
        """T of the reward 1 - 0.9 t / T."""
        # 5 x 13 x 13, the default of the smaller grid that the paper enlarged: its target of 0.96 fits no other T.
        return self.max_steps if self.limit == "solvable" else 845

    @property
    def spaces(self) -> Spaces:
        sizes = np.broadcast_to([OBJECTS, COLOURS, STATES], (VIEW, VIEW, 3))
        side = VIEW * TILE
        # Categories, not a Box of numbers: models then learn an embedding for each object.
        symbolic = gym.spaces.MultiDiscrete(sizes, dtype=np.uint8)
        image = gym.spaces.Box(0, 255, (side, side, 3), np.uint8)
        return Spaces(observation=symbolic if self.observation == "symbolic" else image, action=gym.spaces.Discrete(3))


# ---------------------------------------------------------------------------------------------------- the world


@cache
def floor_plan(size: int) -> NDArray[np.uint8]:
    """The cells [y, x] of a grid with a margin of walls; the three objects are placeholders."""
    middle, end = size // 2, size - 3
    inner = np.full((size, size), EMPTY, dtype=np.uint8)
    inner[[0, -1]], inner[:, [0, -1]] = WALL, WALL
    inner[middle - 2, 1:5] = inner[middle + 2, 1:5] = WALL
    inner[middle - 1, 4:end] = inner[middle + 1, 4:end] = WALL
    inner[np.arange(size) != middle, end] = WALL
    inner[middle - 1, 1] = _START
    inner[middle - 2, end + 1], inner[middle + 2, end + 1] = _UPPER, _LOWER
    return np.pad(inner, _MARGIN, constant_values=WALL)


def draws(seeds: Array, size: int) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]:
    """What the package draws for each seed, in its order: start column, object of the room, upper object."""
    start, room, upper = np.empty(len(seeds), np.int64), np.empty(len(seeds), np.uint8), np.empty(len(seeds), np.uint8)
    for row, seed in enumerate(seeds.tolist()):
        generator = seeding.np_random(seed)[0]
        start[row] = generator.integers(1, size - 2)
        room[row] = (KEY, BALL)[generator.integers(0, 2)]
        upper[row] = (BALL, KEY)[generator.integers(0, 2)]
    return start, room, upper


def object_names(cells: Array) -> NDArray[np.str_]:
    """What is to be remembered, as `reset` tells it: key or ball."""
    return np.where(cells == KEY, "key", "ball")


_AHEAD: NDArray[np.int64] = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
"""(x, y) of one step forward, by direction."""


def _view_offsets() -> NDArray[np.int64]:
    """Where the cells of a view are, from the agent: (direction, column, row) -> (x, y)."""
    to_the_right = np.stack([-_AHEAD[:, 1], _AHEAD[:, 0]], 1)
    column, row = np.arange(VIEW)[:, None, None] - 1, VIEW - 1 - np.arange(VIEW)[:, None]
    offsets = _AHEAD[:, None, None] * row + to_the_right[:, None, None] * column
    return offsets.astype(np.int64)


VIEW_OFFSETS = _view_offsets()


def visible(cells: Array) -> NDArray[np.bool_]:
    """The package's shadow casting: sight spreads from the agent row by row, and not from walls. (B, 3, 3)"""
    clear, mask = cells != WALL, np.zeros(cells.shape, np.bool_)
    mask[:, 1, 2] = True
    for row in (2, 1, 0):
        for column, beside in ((0, 1), (1, 2), (2, 1), (1, 0)):
            spreads = mask[:, column, row] & clear[:, column, row]
            mask[:, beside, row] |= spreads
            if row:
                mask[:, beside, row - 1] |= spreads
                mask[:, column, row - 1] |= spreads
    return mask


# ------------------------------------------------------------------------------------------------- observations

_SYMBOLS = np.zeros((OBJECTS, 3), dtype=np.uint8)
_SYMBOLS[[EMPTY, WALL, KEY, BALL]] = [[EMPTY, 0, 0], [WALL, 5, 0], [KEY, 1, 0], [BALL, 1, 0]]


def memory_env() -> Any:
    """The environment class of the package."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # the package loads pygame, which greets on stdout
    try:
        from minigrid.envs.memory import MemoryEnv
    except ImportError:
        raise MissingExtraError("minigrid", "minigrid") from None
    return MemoryEnv


@cache
def tiles() -> NDArray[np.uint8]:
    """The package's picture of every cell that a view can hold: (cell, pixel row, pixel column, colour)."""
    memory_env()
    from minigrid.core.grid import Grid
    from minigrid.core.world_object import Ball, Key, Wall

    def tile(kind: Any, *colour: str, agent_dir: int | None = None, highlight: bool = True) -> Array:
        thing = kind(*colour) if kind else None
        drawn: Array = Grid.render_tile(thing, agent_dir=agent_dir, highlight=highlight, tile_size=TILE)
        return drawn

    table = np.zeros((OBJECTS, TILE, TILE, 3), dtype=np.uint8)
    table[UNSEEN], table[EMPTY], table[AGENT] = tile(None, highlight=False), tile(None), tile(None, agent_dir=NORTH)
    table[WALL], table[KEY], table[BALL] = tile(Wall), tile(Key, "green"), tile(Ball, "green")
    return table


def paint(view: Array) -> NDArray[np.uint8]:
    """Views as images: (B, 3, 3) cells -> (B, 84, 84, 3)."""
    cells = view.copy()
    cells[:, 1, 2] = AGENT
    side = VIEW * TILE
    # columns, rows, pixel rows, pixel columns -> rows, pixel rows, columns, pixel columns
    return tiles()[cells].transpose(0, 2, 3, 1, 4, 5).reshape(len(view), side, side, 3)


def observe(view: Array, task: MinigridTask) -> NDArray[np.uint8]:
    """Views as observations: (B, 3, 3) -> (B, 3, 3, 3) or (B, 84, 84, 3)."""
    return _SYMBOLS[view] if task.observation == "symbolic" else paint(view)


# -------------------------------------------------------------------------------------------------------- batch


@dataclass(kw_only=True)
class _Rows:
    """The state of B episodes; every array has B rows."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    direction: NDArray[np.int64]
    done: NDArray[np.bool_]
    cells: NDArray[np.uint8]
    """What each number of the floor plan stands for in this episode."""


class MinigridMemoryBatch:
    """B episodes in lock-step. Finished rows stay put, without reward."""

    def __init__(self, size: int = 41, observation: str = "symbolic", limit: str = "solvable") -> None:
        self.task = MinigridTask(size=size, observation=observation, limit=limit)
        self.spaces = self.task.spaces
        self.info: Mapping[str, Array] = {}

    def reset(self, seeds: NDArray[np.int64]) -> NDArray[np.uint8]:
        start, room, upper = draws(seeds, self.task.size)
        cells = np.tile(np.arange(_LOWER + 1, dtype=np.uint8), (len(seeds), 1))
        cells[:, _START], cells[:, _UPPER], cells[:, _LOWER] = room, upper, KEY + BALL - upper
        self._steps = 0
        self.info = {"object": object_names(room)}
        self._rows = _Rows(
            x=start,
            y=np.full(len(seeds), self.task.size // 2),
            direction=np.full(len(seeds), EAST),
            done=np.zeros(len(seeds), np.bool_),
            cells=cells,
        )
        return observe(self.view(), self.task)

    def step(self, action: Array) -> BatchStep:
        rows, size, middle = self._rows, self.task.size, self.task.size // 2
        live = ~rows.done
        rows.direction = (rows.direction + np.array([-1, 1, 0])[action] * live) % 4
        ahead = _AHEAD[rows.direction]
        moves = live & (action == FORWARD) & (self._cells(ahead[:, None])[:, 0] == EMPTY)
        rows.x, rows.y = rows.x + ahead[:, 0] * moves, rows.y + ahead[:, 1] * moves
        self._steps += 1
        # The package ends an episode next to either object; the one above is at y = middle - 2.
        terminated = (rows.x == size - 2) & (rows.y != middle)
        matches = rows.cells[:, _START] == np.where(rows.y < middle, rows.cells[:, _UPPER], rows.cells[:, _LOWER])
        truncated = np.full(len(live), self._steps >= self.task.max_steps)
        rows.done = rows.done | terminated | truncated
        return BatchStep(
            observation=observe(self.view(), self.task),
            reward=np.where(live & terminated & matches, 1 - 0.9 * (self._steps / self.task.reward_steps), 0.0),
            terminated=terminated,
            truncated=truncated,
        )

    def select(self, rows: NDArray[np.int64]) -> None:
        self._rows = tree_map(lambda leaf: leaf[rows], self._rows)

    def close(self) -> None:
        """Nothing to release."""

    def view(self) -> NDArray[np.uint8]:
        """The cells that the agents see, (B, 3, 3)."""
        cells = self._cells(VIEW_OFFSETS[self._rows.direction])
        seen = np.where(visible(cells), cells, UNSEEN)
        seen[:, 1, 2] = EMPTY
        return seen

    def _cells(self, offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The cells at places around the agents: (B, ..., 2) -> (B, ...)."""
        rows, each = self._rows, (slice(None), *[None] * (offsets.ndim - 2))
        x, y = rows.x[each] + offsets[..., 0] + _MARGIN, rows.y[each] + offsets[..., 1] + _MARGIN
        found: NDArray[np.uint8] = rows.cells[np.arange(len(rows.x))[each], floor_plan(self.task.size)[y, x]]
        return found
