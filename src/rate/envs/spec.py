"""EnvSpec: all that the library knows of one environment, as a value.

Trainer and evaluator read these values and never look at a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.registry import Registry
from rate.types import Array, Spaces, Trajectory, Tree


@dataclass(frozen=True, kw_only=True)
class BatchStep:
    """What a batch of environments answers to a batch of actions. Rows of finished episodes hold anything."""

    observation: Tree
    reward: Array
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class BatchEnv(Protocol):
    """B episodes in lock-step, without automatic reset. Row i with seed s is the episode that seed s gives alone."""

    spaces: Spaces
    info: Mapping[str, Array]
    """What `reset` told of each row besides its observation."""

    def reset(self, seeds: NDArray[np.int64]) -> Tree: ...

    def step(self, action: Array) -> BatchStep: ...

    def select(self, rows: NDArray[np.int64]) -> None:
        """Go on with these rows only."""

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class EvalCase:
    """One setting under which policies are evaluated."""

    name: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""
    target_return: float
    max_steps: int
    """Episodes are cut here even if the environment does not end them."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Labels to group cases by, for example the length of a corridor."""


@dataclass(frozen=True, kw_only=True)
class CollectRequest:
    """What a behaviour policy is asked for. The episodes are a function of this value alone."""

    episodes: int
    seed: int
    kwargs: Mapping[str, Any]
    """Options of the environment's expert (documented by each environment)."""


@dataclass(frozen=True, kw_only=True)
class EnvSpec:
    """One environment: how to make it, who demonstrates it, how policies are judged in it."""

    name: str
    summary: str
    make: Callable[..., gym.Env[Any, Any]]
    make_batch: Callable[..., BatchEnv]
    """make_batch(**kwargs): the batched form; its batch size is the number of seeds given to `reset`."""
    expert: Callable[[CollectRequest], Iterator[Trajectory]]
    expert_defaults: Mapping[str, Any]
    """Every option that the expert takes, with its default."""
    case: Callable[..., EvalCase]
    """case(**kwargs) -> the evaluation case for these environment arguments."""
    success: Callable[[float], bool] | None
    """Episode return -> success; None where the environment has no notion of it."""
    oracle: Mapping[str, gym.Space[Any]] = field(default_factory=dict)
    """Privileged facts of an episode that a policy may be told (`data.oracle`): their names in the information that
    `reset` gives, and in the data of the expert, with their spaces."""
    axis: str | None = None
    """The tag that orders cases on the x axis of a figure."""
    axis_unit: str | None = None
    """The unit of that tag."""


ENVS: Registry[EnvSpec] = Registry("environment")


def spaces_of(spec: EnvSpec, **kwargs: Any) -> Spaces:
    """The spaces of an environment."""
    env = spec.make(**kwargs)
    try:
        return Spaces(observation=env.observation_space, action=env.action_space)
    finally:
        env.close()
