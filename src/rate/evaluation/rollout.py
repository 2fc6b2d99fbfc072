"""Batched lock-step episodes: the only place where a policy meets an environment.

Finished episodes leave the batch when half of it has finished, so that none is stepped for long without need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rate.envs.spec import BatchEnv
from rate.errors import ConfigError
from rate.models.actor import Actor
from rate.types import Array, tree_map


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """What came out of a batch of episodes, in the order of their seeds."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    cut: int
    """How many the environment had not ended when the steps were over."""


@dataclass
class _Progress:
    """The open episodes: where each row of the batch belongs."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    rows: NDArray[np.int64] = field(init=False)
    alive: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.arange(len(self.returns))
        self.alive = np.ones(len(self.returns), bool)

    def add(self, reward: Array, ended: NDArray[np.bool_]) -> None:
        self.returns[self.rows] += np.where(self.alive, reward, 0)
        self.lengths[self.rows] += self.alive
        self.alive &= ~ended


def rollout(
    actor: Actor,
    env: BatchEnv,
    seeds: NDArray[np.int64],
    max_steps: int,
    on_step: Callable[[int], None] | None = None,
    oracle: str = "",
) -> Episodes:
    """Run one episode per seed until all have ended or `max_steps` have passed; the actor is told `oracle` of each."""
    observation = env.reset(seeds)
    if oracle and oracle not in env.info:
        raise ConfigError(
            f"the environment's reset does not tell {oracle!r}; a SerialBatch must be given it in `facts`"
        )
    actor.reset(oracle=env.info[oracle] if oracle else None)
    progress = _Progress(np.zeros(len(seeds)), np.zeros(len(seeds), np.int64))
    for step in range(max_steps):
        answer = env.step(actor.act(observation))
        actor.observe(answer.reward)
        observation = answer.observation
        progress.add(answer.reward, answer.terminated | answer.truncated)
        if on_step is not None:
            on_step(step + 1)
        left = int(progress.alive.sum())
        if left == 0:
            break
        if left <= len(progress.alive) // 2:
            keep = np.flatnonzero(progress.alive)
            actor.keep(keep)
            env.select(keep)
            observation = tree_map(lambda leaf, at=keep: leaf[at], observation)
            progress.rows, progress.alive = progress.rows[keep], progress.alive[keep]
    return Episodes(returns=progress.returns, lengths=progress.lengths, cut=int(progress.alive.sum()))
