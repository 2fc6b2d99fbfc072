"""Passive T-Maze: a clue in the first observation decides the turn at the end of a corridor.
The environment of the paper's section "T-Maze", alone and in batches.

An episode is a function of its seed alone: every random number is a hash of (seed, stream, counter), so the episode
is the same alone, in any batch and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.hashing import GAMMA, NOISE_STREAM, key, noise, noise_at, seed_array
from rate.envs.spec import BatchStep
from rate.errors import ConfigError
from rate.types import Array, Spaces, tree_map

RIGHT, UP, LEFT, DOWN = range(4)
Y, CLUE, FLAG, NOISE = range(4)
"""Columns of the observation."""

MIN_LENGTH = 3
"""One corridor cell, and the two steps that L + 2 adds to it."""

_ADVANCE = np.array([1, 0, -1, 0], dtype=np.int64)
_TURN = np.array([0, 1, 0, -1], dtype=np.int64)


def clue_of(seeds: Array) -> NDArray[np.int64]:
    """+1 (up) for even seeds, -1 (down) for odd ones: consecutive seeds are exactly balanced."""
    return np.where(seeds % 2 == 0, 1, -1)


def corridor_of(length: int | Array) -> NDArray[np.int64]:
    """The corridor L = length - 2, which is also the x of the junction."""
    limit = np.asarray(length)
    if limit.dtype.kind not in "iu" or limit.size == 0 or limit.min() < MIN_LENGTH:
        raise ConfigError(f"tmaze: length must be a whole number of at least {MIN_LENGTH}, got {length!r}")
    return limit.astype(np.int64) - 2


def _spaces() -> Spaces:
    return Spaces(observation=gym.spaces.Box(-1.0, 1.0, (4,), np.float32), action=gym.spaces.Discrete(4))


class TMazeEnv(gym.Env[NDArray[np.float32], np.int64]):
    """One episode: walk right to the junction, then turn where the first observation pointed.

    Observation [y, clue, flag, noise]; actions right, up, left, down; reward 1 in the right arm, else 0.
    Ends in an arm (terminated) or after `length` = L + 2 steps outside of one (truncated).
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, length: int = 30, render_mode: str | None = None) -> None:
        self.junction = int(corridor_of(length))
        self.length = int(length)
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"tmaze: render_mode must be None or 'ansi', got {render_mode!r}")
        self.render_mode = render_mode
        spaces = _spaces()
        self.observation_space, self.action_space = spaces.observation, spaces.action
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        seeds = seed_array(seed, self.np_random)
        self.clue = int(clue_of(seeds)[0])
        self._noise = noise(seeds, self.length + 1)[0]
        self.x = self.y = self.steps = 0
        self._over = False
        return self._observe(self.clue), {"clue": self.clue}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self._check_step(action)
        if self.x == self.junction:
            self.y = int(_TURN[action])
        self.x = min(max(self.x + int(_ADVANCE[action]), 0), self.junction)
        self.steps += 1
        terminated = self.y != 0
        truncated = self.steps >= self.length and not terminated
        self._over = terminated or truncated
        return self._observe(0), float(self.y == self.clue), terminated, truncated, {"clue": self.clue}

    def render(self) -> str | None:
        return draw(self.x, self.y, self.junction, self.clue) if self.render_mode == "ansi" else None

    def _check_step(self, action: np.int64) -> None:
        if self._over:
            raise gym.error.ResetNeeded("tmaze: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"tmaze: actions are 0 right, 1 up, 2 left, 3 down, got {action!r}")

    def _observe(self, clue: int) -> NDArray[np.float32]:
        return np.array([self.y, clue, self.x == self.junction, self._noise[self.steps]], dtype=np.float32)


def draw(x: int, y: int, junction: int, clue: int) -> str:
    """The maze as text: `o` the agent, `G` the goal, `~` cells left out."""
    shown = sorted({cell for near in (0, x, junction) for cell in range(near - 2, near + 3) if 0 <= cell <= junction})
    corridor, last = "", -1
    for cell in shown:
        corridor += ("~" if cell > last + 1 else "") + ("o" if (cell, y) == (x, 0) else ".")
        last = cell
    arms = {side: "o" if y == side else "G" if clue == side else "." for side in (1, -1)}
    indent = " " * (len(corridor) - 1)
    return f"{indent}{arms[1]}\n{corridor}\n{indent}{arms[-1]}\n"


@dataclass(kw_only=True)
class _Rows:
    """The state of B episodes; every array is (B,)."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    done: NDArray[np.bool_]
    junction: NDArray[np.int64]
    clue: NDArray[np.int64]
    counter: NDArray[np.uint64]
    """Where the noise stream is; one more GAMMA per step."""


class TMazeBatch:
    """B episodes in lock-step; `length` is one number or one per row. Finished rows stay put, without reward."""

    def __init__(self, length: int | Array = 30) -> None:
        self._corridor = corridor_of(length)
        self.spaces = _spaces()
        self.info: Mapping[str, Array] = {}

    def reset(self, seeds: NDArray[np.int64]) -> NDArray[np.float32]:
        size = len(seeds)
        if self._corridor.shape not in ((), (size,)):
            raise ConfigError(f"tmaze: {len(self._corridor)} lengths were given for a batch of {size} episodes")
        self._steps = 0
        self._rows = _Rows(
            x=np.zeros(size, np.int64),
            y=np.zeros(size, np.int64),
            done=np.zeros(size, np.bool_),
            junction=np.broadcast_to(self._corridor, size),
            clue=clue_of(seeds),
            counter=key(seeds, NOISE_STREAM),
        )
        self.info = {"clue": self._rows.clue}
        return self._observe(self._rows.clue)

    def step(self, action: Array) -> BatchStep:
        rows = self._rows
        live = ~rows.done
        turn = _TURN[action] * (live & (rows.x == rows.junction))
        rows.y = rows.y + turn
        rows.x = np.minimum(np.maximum(rows.x + _ADVANCE[action] * live, 0), rows.junction)
        rows.counter = rows.counter + GAMMA
        self._steps += 1
        terminated = rows.y != 0
        truncated = (self._steps >= rows.junction + 2) & ~terminated
        rows.done = terminated | truncated
        reward = (turn == rows.clue).astype(np.float32)
        return BatchStep(observation=self._observe(0), reward=reward, terminated=terminated, truncated=truncated)

    def select(self, rows: NDArray[np.int64]) -> None:
        self._rows = tree_map(lambda leaf: leaf[rows], self._rows)

    def close(self) -> None:
        """Nothing to release."""

    def _observe(self, clue: NDArray[np.int64] | int) -> NDArray[np.float32]:
        rows = self._rows
        # A new array each time: callers keep observations.
        observation = np.empty((len(rows.x), 4), dtype=np.float32)
        observation[:, Y] = rows.y
        observation[:, CLUE] = clue
        observation[:, FLAG] = rows.x == rows.junction
        observation[:, NOISE] = noise_at(rows.counter)
        return observation
