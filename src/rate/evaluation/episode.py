"""One episode, frame by frame, to look at: who plays it, and what is seen of it.

It is a batch of one, run as all are; the episode of a seed is the same in any batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rate.envs.batch import SerialBatch
from rate.envs.spec import EnvSpec, Player
from rate.errors import ConfigError
from rate.evaluation.inspected import MemoryNow
from rate.evaluation.rollout import lock_steps
from rate.models.actor import Actor
from rate.types import Array, Tree, tree_map

Begin: TypeAlias = Callable[[gym.Env[Any, Any]], Player]
"""Who plays: an environment that was reset -> the player of this episode."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What is seen after a step; the first frame is what is seen before any."""

    step: int = 0
    action: Any = None
    reward: float = 0.0
    episode_return: float = 0.0
    picture: str | Array
    """Text, or (height, width, 3) bytes."""
    observation: Tree
    """What the agent is given."""
    memory: MemoryNow | None = None
    """What the action was chosen with, where that is watched."""


def make_to_watch(spec: EnvSpec, kwargs: Mapping[str, Any], modes: Sequence[str]) -> gym.Env[Any, Any]:
    """The environment with the first of these render modes that it has, or without any."""
    parameters = inspect.signature(spec.make).parameters
    if "render_mode" not in parameters and all(at.kind is not at.VAR_KEYWORD for at in parameters.values()):
        return spec.make(**kwargs)
    blind = spec.make(**kwargs)
    offered = blind.metadata.get("render_modes") or ()
    chosen = next((mode for mode in modes if mode in offered), None)
    if chosen is None:
        return blind
    try:
        seeing = spec.make(**kwargs, render_mode=chosen)
    except (ConfigError, TypeError):  # it names modes and has no argument for them
        return blind
    blind.close()
    return seeing


class Solo:
    """The agent of a batch of one episode, which a player plays."""

    def __init__(self, env: gym.Env[Any, Any], begin: Begin) -> None:
        self.env, self.begin = env, begin

    def reset(self, *, oracle: ArrayLike | None = None, episodes: ArrayLike | None = None) -> None:
        self.player, self.previous = self.begin(self.env), None

    def act(self, observation: Tree) -> Any:
        self.previous = self.player(only(observation), self.previous)
        return [self.previous]

    def observe(self, reward: ArrayLike) -> None:
        """A player sees observations and its own actions alone."""

    def keep(self, rows: NDArray[np.int64]) -> None:
        """There is one row, and it goes on."""


def play(env: gym.Env[Any, Any], who: Actor | Begin, seed: int, max_steps: int, oracle: str = "") -> Iterator[Frame]:
    """The frames of one episode, which ends by itself or after `max_steps`; an actor is given the fact `oracle`."""
    if max_steps < 1:
        raise ConfigError(f"an episode of {max_steps} steps cannot be played; it must be at least 1")
    agent = who if isinstance(who, Actor) else Solo(env, who)
    batch, total = SerialBatch(lambda: env, [oracle] if oracle else ()), 0.0
    for at in lock_steps(agent, batch, np.array([seed]), max_steps, oracle):
        action, reward = None if at.action is None else at.action[0], float(at.reward[0])
        total += reward
        seen = only(at.observation)
        yield Frame(
            step=at.number,
            action=action,
            reward=reward,
            episode_return=total,
            picture=picture_of(env, seen),
            observation=seen,
        )


def only(batch: Tree) -> Tree:
    """The observation of a batch of one."""
    return tree_map(lambda leaf: leaf[0], batch)


def by_chance(seed: int) -> Begin:
    """Every action is drawn at random."""

    def begin(env: gym.Env[Any, Any]) -> Player:
        env.action_space.seed(seed)
        return lambda observation, previous: env.action_space.sample()

    return begin


def picture_of(env: gym.Env[Any, Any], observation: Tree) -> str | Array:
    """What the environment renders, else the values of the observation."""
    try:
        drawn = env.render() if env.render_mode else None
    except gym.error.DependencyNotInstalled as error:
        raise ConfigError(f"the environment cannot draw itself: {error}") from None
    return drawn if isinstance(drawn, (str, np.ndarray)) else describe(observation)


def describe(value: Tree) -> str:
    """An observation or an action as text; of large arrays the corners only."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {describe(part)}" for key, part in value.items())
    if isinstance(value, tuple):
        return "\n".join(f"{at}: {describe(part)}" for at, part in enumerate(value))
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return str(value)
    options: dict[str, Any] = {"precision": 3, "suppress_small": True, "threshold": 100, "edgeitems": 2}
    return np.array2string(array, max_line_width=100, **options)
