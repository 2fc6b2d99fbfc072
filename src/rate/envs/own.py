"""An environment of the user's, with errors that say where it went wrong."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rate import spaces
from rate.errors import ConfigError, RateError
from rate.plugins import describe
from rate.spaces import map_space

CLASSES = (gym.spaces.Discrete, gym.spaces.MultiDiscrete)
"""Spaces whose values are classes."""
OURS = (__file__, spaces.__file__)
"""Files of which the user need not know when an observation does not fit."""


class OwnEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An environment of the user's; what goes wrong inside of it is said in one line with the place."""

    def __init__(self, env: gym.Env[Any, Any], name: str) -> None:
        super().__init__(env)
        self._name = name

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        with self._in_one_line("reset"):
            # Not options=None: that was not always an argument.
            observation, info = self.env.reset(seed=seed, **({"options": options} if options else {}))
            self._check(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        with self._in_one_line("step"):
            observation, reward, terminated, truncated, info = self.env.step(action)
            self._check(observation)
            if not math.isfinite(reward):
                raise ConfigError(f"the environment {self._name} gives the reward {reward}; it must be a finite number")
        return observation, float(reward), bool(terminated), bool(truncated), info

    def render(self) -> Any:
        with self._in_one_line("render"):
            return self.env.render()

    def _check(self, observation: Any) -> None:
        """Numbers must be finite, and classes those of their space: others have no row in the table of a model."""
        map_space(self._check_leaf, self.observation_space, observation)

    def _check_leaf(self, space: gym.Space[Any], value: Any) -> None:
        if isinstance(space, CLASSES):
            if not space.contains(value):
                raise ConfigError(f"the environment {self._name} gives the observation {value} outside of {space}")
        elif isinstance(space, gym.spaces.Box) and not np.isfinite(value).all():
            raise ConfigError(f"the environment {self._name} gives an observation that is not finite")

    @contextmanager
    def _in_one_line(self, method: str) -> Iterator[None]:
        try:
            yield
        except RateError:
            raise
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = "" if at.filename in OURS else f" ({Path(at.filename).name}, line {at.lineno})"
            raise ConfigError(f"the environment {self._name} fails in {method}: {describe(error)}{where}") from error
