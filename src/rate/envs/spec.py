"""EnvSpec: all that the library knows of one environment, as a value.

Trainer and evaluator read these values and never look at a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, Protocol, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.registry import Registry
from rate.score import Score
from rate.seeding import Purpose, episode_seeds
from rate.types import Array, Spaces, Trajectory, Tree

Player: TypeAlias = Callable[[Tree, Any], Any]
"""Who plays one episode: (observation, the action before it or None) -> action."""

PLAYER_STREAM = 1
"""A player draws from default_rng([seed, PLAYER_STREAM]), apart from the numbers of its environment."""


@dataclass(frozen=True, kw_only=True)
class BatchStep:
    """What a batch of environments answers to a batch of actions. Rows of finished episodes hold anything finite."""

    observation: Tree
    reward: Array
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class BatchEnv(Protocol):
    """B episodes in lock-step, without automatic reset. Row i with seed s is the episode that seed s gives alone."""

    spaces: Spaces
    info: Mapping[str, Array]
    """What `reset` said of each row besides its observation."""

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
    target_return: float | None
    """None where nothing is known of it: the configuration of the run must name one."""
    max_steps: int
    """Episodes are cut here even if the environment does not end them."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Labels to group cases by, for example the length of a corridor."""


def case_of_length(length: int) -> EvalCase:
    """Episodes of so many steps, with a return of 1 for success."""
    return EvalCase(
        name=f"length={length}",
        kwargs={"length": length},
        target_return=1.0,
        max_steps=length,
        tags={"length": str(length)},
    )


@dataclass(frozen=True, kw_only=True)
class CollectRequest:
    """What a behaviour policy is asked for. The episodes are a function of this value alone.

    Episode i is the same whichever part is asked for, so that parts may be collected apart and put together.
    """

    episodes: int
    """Of the whole data set."""
    seed: int
    kwargs: Mapping[str, Any]
    """Options of the environment's expert (documented by each environment)."""
    part: range | None = None
    """The episodes that are asked for; None: all."""
    purpose: Purpose = Purpose.COLLECT
    """Whose seeds the episodes have; what is not trained on has others."""

    @property
    def indices(self) -> range:
        """The episodes that are asked for."""
        return range(self.episodes) if self.part is None else self.part

    @property
    def seeds(self) -> NDArray[np.int64]:
        """Their seeds."""
        return episode_seeds(self.purpose, self.seed, len(self.indices), self.indices.start)


@dataclass(frozen=True, kw_only=True)
class EnvSpec:
    """One environment: how to make it, who demonstrates it, how policies are judged in it."""

    name: str
    summary: str
    make: Callable[..., gym.Env[Any, Any]]
    make_batch: Callable[..., BatchEnv]
    """make_batch(**kwargs): the batched form; its batch size is the number of seeds given to `reset`."""
    expert: Callable[[CollectRequest], Iterator[Trajectory]] | None
    """None where it has no expert: a user's own environment, of which there is data or none."""
    expert_defaults: Mapping[str, Any] = field(default_factory=dict)
    """Every option that the expert takes, with its default."""
    player: Callable[..., Player] | None = None
    """player(env, rng, **options of the expert): the expert for one episode of an environment that was reset."""
    case: Callable[..., EvalCase]
    """case(**kwargs) -> the evaluation case for these environment arguments."""
    score: Score = field(default_factory=Score)
    """By what policies are judged: success, a normalised return, or the return as it is."""
    tags: tuple[str, ...] = ()
    """Facts in the information that `reset` gives by which episodes are also judged apart, such as their colour."""
    success: InitVar[Callable[[float], bool] | None] = None
    """Short for score=Score.success(...)."""
    oracle: Mapping[str, gym.Space[Any]] = field(default_factory=dict)
    """Privileged facts of an episode that a policy may be given (`data.oracle`): their names in the information that
    `reset` gives, and in the data of the expert, with their spaces."""
    stacks_frames: bool = False
    """The first axis of an observation holds its last frames: data stores each of them once."""
    cue: str = ""
    """The info of the expert's episodes that decides their last action; empty: there is no such thing."""
    cue_options: Mapping[str, Any] = field(default_factory=dict)
    """Options with which all episodes of the expert have the length of their case, where it needs any."""
    axis: str | None = None
    """The tag that orders cases on the x axis of a figure."""
    axis_unit: str | None = None
    """The unit of that tag."""

    def __post_init__(self, success: Callable[[float], bool] | None) -> None:
        if success is not None:
            object.__setattr__(self, "score", Score.success(success))


ENVS: Registry[EnvSpec] = Registry("environment", "rate list envs")


def spaces_of(spec: EnvSpec, **kwargs: Any) -> Spaces:
    """The spaces of an environment."""
    env = spec.make(**kwargs)
    try:
        return Spaces(observation=env.observation_space, action=env.action_space)
    finally:
        env.close()
