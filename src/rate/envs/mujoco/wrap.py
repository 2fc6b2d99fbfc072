"""One walker of Gymnasium's MuJoCo environments, in float32, with a part of its observation left out, noisy or dropped.
Physics, rewards and limits stay those of Gymnasium, which is asked for MuJoCo when an environment is made.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.errors import ConfigError, MissingExtraError

Vector = NDArray[np.float32]

OBSERVE = ("all", "positions", "velocities")


MAX_STEPS = 1000
"""Gymnasium's limit."""


@dataclass(frozen=True, kw_only=True)
class View:
    """What of its state a walker shows."""

    observe: str = "all"
    """"positions" or "velocities" alone hide the other half."""
    noise: float = 0.0
    """Standard deviation of Gaussian noise on every number."""
    drop: float = 0.0
    """Probability that a step shows zeros instead of its observation."""

    def __post_init__(self) -> None:
        if self.observe not in OBSERVE:
            raise ConfigError(f"mujoco: observe must be one of {', '.join(OBSERVE)}, got {self.observe!r}")
        for name, most, text in (("noise", math.inf, "of at least 0"), ("drop", 1.0, "in [0, 1]")):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and 0 <= value <= most):
                raise ConfigError(f"mujoco: {name} must be a number {text}, got {value!r}")


def make(
    env_id: str,
    observe: str = "all",
    noise: float = 0.0,
    drop: float = 0.0,
    max_steps: int = MAX_STEPS,
    render_mode: str | None = None,
) -> gym.Env[Any, Any]:
    """An environment of Gymnasium, seen through a `View`; `env.unwrapped` is Gymnasium's own."""
    View(observe=observe, noise=noise, drop=drop)  # a mistake in it comes before all work
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or max_steps < 1:
        raise ConfigError(f"mujoco: max_steps must be a positive whole number, got {max_steps!r}")
    if render_mode not in (None, "rgb_array"):
        raise ConfigError(f"mujoco: render_mode must be None or 'rgb_array', got {render_mode!r}")
    return Walker(gymnasium_env(env_id, max_steps, render_mode), observe, noise, drop)


def gymnasium_env(env_id: str, max_steps: int, render_mode: str | None) -> gym.Env[Any, Any]:
    """The environment as Gymnasium has it."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError("mujoco", "mujoco") from error
    with _unlogged(mujoco):
        # Gymnasium's checker looks at every step, which would cost a tenth of the speed.
        return gym.make(env_id, max_episode_steps=max_steps, render_mode=render_mode, disable_env_checker=True)


def cut(action: Any, low: Any, high: Any) -> Any:
    """What np.clip gives, in a third of its time: this is done at every step."""
    return np.minimum(np.maximum(action, low), high)


class Walker(gym.Wrapper[Vector, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Shows a view of the state; actions beyond the bounds are cut to them, also where they are paid for."""

    def __init__(self, env: gym.Env[Any, Any], observe: str = "all", noise: float = 0.0, drop: float = 0.0) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, observe=observe, noise=noise, drop=drop)
        gym.Wrapper.__init__(self, env)
        self._view = View(observe=observe, noise=noise, drop=drop)
        whole, actions = env.observation_space, env.action_space
        assert isinstance(whole, gym.spaces.Box) and isinstance(actions, gym.spaces.Box)
        self._low, self._high = actions.low, actions.high
        positions = int(env.get_wrapper_attr("observation_structure")["qpos"])
        parts = {"all": slice(None), "positions": slice(0, positions), "velocities": slice(positions, None)}
        self._part = parts[observe]
        self.state: Vector = np.zeros(whole.shape, np.float32)
        """The whole observation, which the behaviour policies see."""
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, self.state[self._part].shape, np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._seen(observation), info

    def step(self, action: Any) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(cut(action, self._low, self._high))
        return self._seen(observation), float(reward), bool(terminated), bool(truncated), info

    def _seen(self, observation: Any) -> Vector:
        self.state = observation.astype(np.float32)
        seen, view = self.state[self._part], self._view
        rng = self.unwrapped.np_random  # seeded by reset, and used by nothing else afterwards
        if view.noise:
            seen = seen + rng.normal(0.0, view.noise, seen.shape).astype(np.float32)
        if view.drop and rng.random() < view.drop:
            seen = np.zeros_like(seen)
        return seen


@contextlib.contextmanager
def _unlogged(mujoco: Any) -> Iterator[None]:
    """Gymnasium's files use words that MuJoCo calls deprecated: it would write so into a file of the directory."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
