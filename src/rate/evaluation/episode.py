"""One episode, frame by frame, to look at: who plays it, and what is seen of it.

Scores come from the batched `rollout`; the episode of a seed is the same there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
import torch

from rate.envs.spec import EnvSpec, Player
from rate.errors import ConfigError
from rate.models.actor import Actor
from rate.types import Array, Tree

Begin: TypeAlias = Callable[[gym.Env[Any, Any], Mapping[str, Any]], Player]
"""Who plays: (environment that was reset, what `reset` told) -> the player of this episode."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What is seen after a step; the first frame is what is seen before any."""

    step: int = 0
    action: Any = None
    reward: float = 0.0
    episode_return: float = 0.0
    picture: str | Array
    """Text, or (height, width, 3) bytes."""


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


def play(
    env: gym.Env[Any, Any],
    begin: Begin,
    seed: int,
    max_steps: int,
    observe: Callable[[float], None] | None = None,
) -> Iterator[Frame]:
    """The frames of one episode, which ends by itself or after `max_steps`; `observe` is told each reward."""
    if max_steps < 1:
        raise ConfigError(f"an episode of {max_steps} steps cannot be played; it must be at least 1")
    observation, info = env.reset(seed=seed)
    player = begin(env, info)
    yield Frame(picture=picture_of(env, observation))
    action, total = None, 0.0
    for step in range(1, max_steps + 1):
        action = player(observation, action)
        observation, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        if observe is not None:
            observe(float(reward))
        picture = picture_of(env, observation)
        yield Frame(step=step, action=action, reward=float(reward), episode_return=total, picture=picture)
        if terminated or truncated:
            return


def by_actor(actor: Actor, seed: int, oracle: str = "") -> Begin:
    """A trained policy plays, and is told the fact `oracle` where it was trained with one."""

    def begin(env: gym.Env[Any, Any], info: Mapping[str, Any]) -> Player:
        if oracle and oracle not in info:
            raise ConfigError(f"the environment's reset does not tell {oracle!r}, which the policy is to be told")
        torch.manual_seed(seed)  # for policies that sample
        actor.reset(oracle=info[oracle] if oracle else None)
        return lambda observation, previous: actor.act(observation)

    return begin


def by_chance(seed: int) -> Begin:
    """Every action is drawn at random."""

    def begin(env: gym.Env[Any, Any], info: Mapping[str, Any]) -> Player:
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
