"""SerialBatch: any Gymnasium environment as a batch, one instance per episode, stepped one after the other.
The fallback for environments without a vectorised form of their own (the evaluation protocol needs batches only).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.spec import BatchStep
from rate.errors import ConfigError
from rate.types import Array, Spaces, Tree


def stack_trees(trees: Sequence[Tree]) -> Tree:
    """B observations of one space -> one observation with leaves (B, ...)."""
    first = trees[0]
    if isinstance(first, Mapping):
        return {key: stack_trees([tree[key] for tree in trees]) for key in first}
    if isinstance(first, tuple):
        return tuple(stack_trees(leaves) for leaves in zip(*trees, strict=True))
    return np.stack([np.asarray(tree) for tree in trees])


class SerialBatch:
    """One environment per row. Finished rows are not stepped: they repeat their last observation, with reward 0."""

    def __init__(self, make: Callable[[], gym.Env[Any, Any]], facts: Sequence[str] = ()) -> None:
        self._make, self._facts = make, facts
        self.info: Mapping[str, Array] = {}
        # Instances outlive the episodes, because making one is often dearer than resetting it.
        self._pool = [make()]
        self.spaces = Spaces(observation=self._pool[0].observation_space, action=self._pool[0].action_space)
        self._rows: list[gym.Env[Any, Any]] = []

    def reset(self, seeds: NDArray[np.int64]) -> Tree:
        size = len(seeds)
        if size == 0:
            raise ValueError("a batch needs at least one seed")
        while len(self._pool) < size:
            made = self._make()
            if made.unwrapped is self._pool[0].unwrapped:
                raise ConfigError("an environment is made once and given again; it must be made anew each time")
            self._pool.append(made)
        self._rows = self._pool[:size]
        answers = [env.reset(seed=int(seed)) for env, seed in zip(self._rows, seeds, strict=True)]
        self._last, infos = [answer[0] for answer in answers], [answer[1] for answer in answers]
        self.info = {key: np.stack([np.asarray(info[key]) for info in infos]) for key in self._facts if key in infos[0]}
        self._terminated, self._truncated = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        return stack_trees(self._last)

    def step(self, action: Array) -> BatchStep:
        reward = np.zeros(len(self._rows))
        for row in np.flatnonzero(~(self._terminated | self._truncated)):
            answer = self._rows[row].step(action[row])
            self._last[row], reward[row], self._terminated[row], self._truncated[row] = answer[:4]
        return BatchStep(
            observation=stack_trees(self._last),
            reward=reward,
            terminated=self._terminated.copy(),
            truncated=self._truncated.copy(),
        )

    def select(self, rows: NDArray[np.int64]) -> None:
        self._rows = [self._rows[row] for row in rows]
        self._last = [self._last[row] for row in rows]
        self._terminated, self._truncated = self._terminated[rows], self._truncated[rows]

    def close(self) -> None:
        for env in self._pool:
            env.close()
        self._pool, self._rows = [], []
