"""Episodes in lock-step: the only place where an agent meets an environment; all that differs is who watches.

Finished episodes leave the batch when half of it has finished, so that none is stepped for long without need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from rate.envs.spec import BatchEnv
from rate.errors import ConfigError
from rate.models.policy import SequencePolicy
from rate.types import Array, Tree, tree_map


class Agent(Protocol):
    """Who acts in a batch of episodes, of which fewer and fewer go on. An `Actor` is one."""

    def reset(self, *, oracle: ArrayLike | None = None, episodes: ArrayLike | None = None) -> None:
        """Begin a batch; `oracle` is the privileged fact of each episode, `episodes` their seeds."""

    def act(self, observation: Tree) -> Any: ...

    def observe(self, reward: ArrayLike) -> None: ...

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Go on with these rows of the batch only."""


@dataclass(frozen=True, kw_only=True)
class LockStep:
    """What is seen after a step of the open episodes; number 0 is what is seen before any."""

    number: int
    rows: NDArray[np.int64]
    """Row of the batch -> place of its seed among those of the rollout."""
    alive: NDArray[np.bool_]
    """False for rows whose episode had ended before."""
    observation: Tree
    action: Any = None
    reward: Array
    ended: NDArray[np.bool_]


Watch: TypeAlias = Callable[[LockStep], None]


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """What came out of a batch of episodes, in the order of their seeds."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    cut: int
    """How many the environment had not ended when the steps were over."""
    facts: Mapping[str, Array]
    """What `reset` said of each episode besides its observation."""
    first: Tree
    """What each saw first."""


@contextmanager
def acting(policy: SequencePolicy[Any], seed: int) -> Iterator[None]:
    """Evaluation mode and a random stream of its own; mode and random state of the caller are left as they were."""
    was_training = policy.training
    policy.eval()
    try:
        with torch.random.fork_rng(devices=[policy.device] if policy.device.type == "cuda" else []):
            torch.manual_seed(seed)
            yield
    finally:
        policy.train(was_training)


def lock_steps(
    agent: Agent, env: BatchEnv, seeds: NDArray[np.int64], max_steps: int, oracle: str = ""
) -> Iterator[LockStep]:
    """One episode per seed until all have ended or `max_steps` have passed; the agent is given `oracle` of each."""
    observation = env.reset(seeds)
    if oracle and oracle not in env.info:
        raise ConfigError(
            f"the environment's reset does not tell {oracle!r}; a SerialBatch must be given it in `facts`"
        )
    agent.reset(oracle=env.info[oracle] if oracle else None, episodes=seeds)
    rows, alive = np.arange(len(seeds)), np.ones(len(seeds), bool)
    yield LockStep(number=0, rows=rows, alive=alive, observation=observation, reward=0.0 * rows, ended=~alive)
    for number in range(1, max_steps + 1):
        action = agent.act(observation)
        answer = env.step(action)
        agent.observe(answer.reward)
        observation, ended = answer.observation, answer.terminated | answer.truncated
        yield LockStep(
            number=number,
            rows=rows,
            alive=alive,
            observation=observation,
            action=action,
            reward=answer.reward,
            ended=ended,
        )
        alive = alive & ~ended
        left = int(alive.sum())
        if left == 0:
            return
        if left <= len(alive) // 2:
            kept = np.flatnonzero(alive)
            agent.keep(kept)
            env.select(kept)
            observation = tree_map(lambda leaf, at=kept: leaf[at], observation)
            rows, alive = rows[kept], alive[kept]


def rollout(
    agent: Agent,
    env: BatchEnv,
    seeds: NDArray[np.int64],
    max_steps: int,
    watch: Watch | None = None,
    oracle: str = "",
) -> Episodes:
    """Returns and lengths of one episode per seed; `watch` is called after every step."""
    returns, lengths, over = np.zeros(len(seeds)), np.zeros(len(seeds), np.int64), np.zeros(len(seeds), bool)
    facts: Mapping[str, Array] = {}
    first: Tree = None
    for at in lock_steps(agent, env, seeds, max_steps, oracle):
        if at.number == 0:
            facts, first = dict(env.info), tree_map(np.array, at.observation)
            continue
        returns[at.rows] += np.where(at.alive, at.reward, 0)
        lengths[at.rows] += at.alive
        over[at.rows] |= at.ended
        if watch is not None:
            watch(at)
    return Episodes(returns=returns, lengths=lengths, cut=int((~over).sum()), facts=facts, first=first)
