"""Memory Maze (Pasukonis et al., 2022): find the object whose colour the border of the picture has, again and again.

The ball sees 64 x 64 pixels of a maze that is new in every episode; each right object pays 1 and changes the colour.
"""

from __future__ import annotations

import atexit
from collections import defaultdict
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.memory_maze.simulator import Simulator
from rate.errors import ConfigError

Image = NDArray[np.uint8]

SIDE = 64
SHOWN = 256
"""Pixels of a film's picture, and of the map beside it."""
STEPS = {9: 1000, 11: 2000, 13: 3000, 15: 4000}
"""Size of a maze to the steps of an episode, four a second."""
NOOP, FORWARD, LEFT, RIGHT, FORWARD_LEFT, FORWARD_RIGHT = range(6)
COLOURS = ("red", "green", "blue", "purple", "yellow", "salmon")

_IDLE: defaultdict[tuple[int, int], list[Simulator]] = defaultdict(list)
"""Simulators of closed environments: to make one costs as much as a hundred steps."""
atexit.register(_IDLE.clear)  # before the interpreter takes the libraries apart


class MemoryMazeEnv(gym.Env[Image, np.int64]):
    """One maze for each seed: the first that the package makes of this seed, to the last pixel."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}

    def __init__(
        self, size: int, resolution: int = SIDE, max_steps: int | None = None, render_mode: str | None = None
    ) -> None:
        max_steps = STEPS[size] if max_steps is None else max_steps
        check_whole("resolution", resolution, 16, 512)
        check_whole("max_steps", max_steps, 1, STEPS[size])
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"memory-maze: render_mode must be None or 'rgb_array', got {render_mode!r}")
        self.render_mode, self._max_steps, self._key = render_mode, max_steps, (size, resolution)
        idle = _IDLE[self._key]
        self.maze = idle.pop() if idle else Simulator(f"memory_maze_{size}x{size}", resolution)
        self._over, self._closed = True, False
        self.observation_space = gym.spaces.Box(0, 255, (resolution, resolution, 3), np.uint8)
        self.action_space = gym.spaces.Discrete(len(self.maze.action_set))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Image, dict[str, Any]]:
        if self._closed:
            raise gym.error.ResetNeeded("memory-maze: the environment is closed; make another")
        super().reset(seed=seed)
        self.maze.reset(int(self.np_random.integers(2**31)) if seed is None else seed % 2**32)
        self._steps, self._over = 0, False
        self._image = self.maze.picture()
        return self._image.copy(), self._info()

    def step(self, action: np.int64) -> tuple[Image, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gym.error.ResetNeeded("memory-maze: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"memory-maze: actions are 0 .. 5, got {action!r}")
        reward = self.maze.step(int(action))
        self._steps += 1
        self._over = self._steps >= self._max_steps
        self._image = self.maze.picture()
        return self._image.copy(), reward, False, self._over, self._info()

    def _info(self) -> dict[str, Any]:
        """The colour that is asked for now, as a number; `COLOURS` has the names."""
        return {"target": self.maze.target}

    def render(self) -> Any:
        """What is seen, and beside it a map, which the agent does not have."""
        if self.render_mode is None:
            return None
        seen = self._image[_pixels(self._image.shape[0])][:, _pixels(self._image.shape[1])]
        return np.concatenate([seen, self._map()], axis=1)

    def _map(self) -> Image:
        maze = self.maze
        drawn = np.where(maze.free[::-1, :, None], 225, 60).astype(np.uint8).repeat(3, axis=2)
        for index, (column, row) in enumerate(maze.targets.round().astype(int)):
            drawn[len(drawn) - 1 - row, column] = maze.colour(index) * 255
        image = drawn[_pixels(drawn.shape[0])][:, _pixels(drawn.shape[1])]
        cell = SHOWN / len(drawn)
        for far, size in ((0.0, 0.25), (0.3, 0.12)):  # the ball and, ahead of it, where it looks
            column, row = maze.place + 0.5 + far * maze.heading
            _square(image, SHOWN - row * cell, column * cell, size * cell)
        return image

    def close(self) -> None:
        if not self._closed:
            self.maze.close()
            _IDLE[self._key].append(self.maze)
        self._over = self._closed = True


def _pixels(count: int) -> NDArray[np.int64]:
    """Which of the pixels each of those shown is."""
    return np.arange(SHOWN) * count // SHOWN


def _square(image: Image, row: float, column: float, half: float) -> None:
    image[max(0, int(row - half)) : int(row + half), max(0, int(column - half)) : int(column + half)] = 0


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no whole number between two others."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(f"memory-maze: {name} must be a whole number from {least} to {most}, got {value!r}")
