"""One POPGym task as the library wants it: exact spaces, one action per step, seeds that rule alone, text pictures.
The rules, rewards and random numbers stay those of the `popgym` package, which is imported when a task is made.
"""

from __future__ import annotations

import contextlib
import copy
import io
import random
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.errors import ConfigError, MissingExtraError
from rate.spaces import map_space
from rate.types import Tree

OBSERVATIONS = ("spaces", "raw")
"""`spaces`: as the package declares them. `raw`: all numbers as one float32 vector."""
VELOCITY_BOUND = 20.0
"""No cart or pole gets this fast before its episode ends; the package says infinity, by which nothing can be scaled."""
DRAWN = ("Battleship", "HigherLower", "LabyrinthEscape", "LabyrinthExplore", "MineSweeper")
"""Families of which the package draws a correct text picture."""


def make(family: str, level: str, observation: str = "spaces", render_mode: str | None = None) -> gym.Env[Any, Any]:
    """A task of the package, put right by `Tidy`; `env.unwrapped` is the package's own environment."""
    if observation not in OBSERVATIONS:
        raise ConfigError(f"popgym: observation must be 'spaces' or 'raw', got {observation!r}")
    if render_mode not in (None, "ansi"):
        raise ConfigError(f"popgym: render_mode must be None or 'ansi', got {render_mode!r}")
    env = Tidy(package_env(family, level), render_mode, drawn=family in DRAWN)
    return Raw(env) if observation == "raw" else env


def package_env(family: str, level: str) -> gym.Env[Any, Any]:
    """The task as the package has it."""
    with warnings.catch_warnings():
        # The package calls its mazes deprecated as benchmarks of memory; the documentation says so too.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            import popgym.envs
        except ImportError as error:
            raise MissingExtraError("popgym", "popgym") from error
        task = getattr(popgym.envs, f"{family}{level}", None)
        if task is None:  # the mazes need a package more, which the extra brings
            raise MissingExtraError("popgym[navigation]", "popgym")
        env: gym.Env[Any, Any] = task()
    return env


class Tidy(gym.Wrapper[Any, Any, Any, Any]):
    """Native observations in the dtypes of their spaces; the square (row, column) of a board as one action.

    `truncated` means that the time ran out and nothing else; the global random states are left as they were.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, env: gym.Env[Any, Any], render_mode: str | None = None, drawn: bool = False) -> None:
        super().__init__(env)
        self._mode, self._drawn = render_mode, drawn
        self.observation_space, self.action_space = _bounded(env.observation_space), env.action_space
        self._columns = 0
        if isinstance(env.action_space, gym.spaces.MultiDiscrete):
            # Two independent choices of row and column could not say "this square or that one".
            self._columns = int(env.action_space.nvec[1])
            self.action_space = gym.spaces.Discrete(int(env.action_space.nvec.prod()))
        self._over = True
        self._said = ""

    @property
    def render_mode(self) -> str | None:  # type: ignore[override]
        return self._mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Tree, dict[str, Any]]:
        drawn = int(self.unwrapped.np_random.integers(2**31)) if seed is None else seed
        with _global_seed(drawn):
            observation, info = self.env.reset(seed=seed, options=options)
        self._over = False
        tidy = typed_copy(observation, self.observation_space)
        self._said = f"reset\nobservation {_text(tidy)}\n"
        return tidy, copy.deepcopy(info)

    def step(self, action: Any) -> tuple[Tree, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gym.error.ResetNeeded("popgym: the episode is over; call reset before step")
        observation, reward, terminated, truncated, info = self.env.step(self._native(action))
        # Several tasks call the last step of their own end a time limit as well.
        terminated, truncated = bool(terminated), bool(truncated) and not terminated
        self._over = terminated or truncated
        tidy = typed_copy(observation, self.observation_space)
        if self._mode is not None:
            self._said = f"action {action}, reward {reward:+.4f}\nobservation {_text(tidy)}\n"
        return tidy, float(reward), terminated, truncated, copy.deepcopy(info) if info else {}

    def render(self) -> str | None:
        if self._mode is None:
            return None
        return self._said + (_picture(self.unwrapped) if self._drawn else "")

    def _native(self, action: Any) -> Any:
        """The action that the package takes."""
        if not isinstance(self.action_space, gym.spaces.Discrete):
            return action
        if not self.action_space.contains(action):  # the package would read -1 as the last of them
            raise gym.error.InvalidAction(f"popgym: actions are 0 .. {self.action_space.n - 1}, got {action!r}")
        return divmod(int(action), self._columns) if self._columns else int(action)


class Raw(gym.ObservationWrapper[NDArray[np.float32], Any, Any]):
    """All numbers of the observation as one float32 vector: what the paper's models were given."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.native_space = env.observation_space
        low, high = (_vector(bound) for bound in _bounds(self.native_space))
        self.observation_space = gym.spaces.Box(low, high, dtype=np.float32)

    def observation(self, observation: Tree) -> NDArray[np.float32]:
        return _vector(observation)

    def native(self, vector: NDArray[np.float32]) -> Tree:
        """The observation that a vector was made of."""
        return _unpack(iter(vector), self.native_space)


def typed_copy(observation: Any, space: gym.Space[Any]) -> Tree:
    """A copy in the dtypes of the space."""
    return map_space(_typed, space, observation)


def _typed(space: gym.Space[Any], value: Any) -> Any:
    return np.int64(value) if isinstance(space, gym.spaces.Discrete) else np.array(value, dtype=space.dtype)


def _bounded(space: gym.Space[Any]) -> gym.Space[Any]:
    """The space with finite bounds."""
    if isinstance(space, gym.spaces.Box) and not space.is_bounded():
        return gym.spaces.Box(-VELOCITY_BOUND, VELOCITY_BOUND, space.shape, np.float32)
    return space


def _bounds(space: gym.Space[Any]) -> tuple[Tree, Tree]:
    """The least and the greatest observation of a space."""
    if isinstance(space, gym.spaces.Tuple):
        low, high = zip(*(_bounds(part) for part in space.spaces), strict=True)
        return low, high
    if isinstance(space, gym.spaces.Box):
        return space.low, space.high
    last = space.nvec - 1 if isinstance(space, gym.spaces.MultiDiscrete) else np.int64(space.n - 1)  # type: ignore[attr-defined]
    return np.zeros_like(last), last


def _vector(tree: Tree) -> NDArray[np.float32]:
    leaves = tree if isinstance(tree, tuple) else (tree,)
    return np.concatenate([np.ravel(leaf) for leaf in leaves]).astype(np.float32)


def _unpack(numbers: Iterator[Any], space: gym.Space[Any]) -> Tree:
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_unpack(numbers, part) for part in space.spaces)
    if isinstance(space, gym.spaces.Discrete):
        return np.int64(next(numbers))
    assert space.shape is not None
    return np.array([next(numbers) for _ in range(int(np.prod(space.shape)))], dtype=space.dtype).reshape(space.shape)


@contextlib.contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """The mazes draw from the global generators: seed them, and give them back as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def _text(observation: Tree) -> str:
    leaves = observation if isinstance(observation, tuple) else (observation,)
    return " ".join(np.array2string(np.asarray(leaf), precision=3, max_line_width=100) for leaf in leaves)


def _picture(env: Any) -> str:
    """What the package draws: it prints, or returns a string."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        returned = env.render()
    return f"{returned or printed.getvalue().rstrip()}\n"
