"""Episodes of a player in a Gymnasium environment: how experts without a vectorised form of their own are recorded.

An episode is a function of its seed: the environment and the player draw from generators that belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.batch import stack_trees
from rate.envs.spec import PLAYER_STREAM, Player
from rate.spaces import map_space
from rate.types import Array, Trajectory, Tree


def demonstrate(
    env: gym.Env[Any, Any],
    player: Callable[[gym.Env[Any, Any], np.random.Generator], Player],
    seeds: Iterable[int],
    facts: Sequence[str] = (),
) -> Iterator[Trajectory]:
    """One episode per seed. `facts` of `reset`'s information are kept at every step; the environment is closed."""
    try:
        for seed in seeds:
            yield episode(env, player, int(seed), facts)
    finally:
        env.close()


def episode(
    env: gym.Env[Any, Any],
    player: Callable[[gym.Env[Any, Any], np.random.Generator], Player],
    seed: int,
    facts: Sequence[str] = (),
) -> Trajectory:
    """Play one episode to its end."""
    observation, info = env.reset(seed=seed)
    act = player(env, np.random.default_rng([seed, PLAYER_STREAM]))
    observations, actions, outcomes = [observation], list[Any](), list[tuple[float, bool, bool]]()
    while not outcomes or not (outcomes[-1][1] or outcomes[-1][2]):
        actions.append(act(observations[-1], actions[-1] if actions else None))
        observation, reward, terminated, truncated, _ = env.step(actions[-1])
        observations.append(observation)
        outcomes.append((float(reward), bool(terminated), bool(truncated)))
    rewards, terminations, truncations = (np.array(column) for column in zip(*outcomes, strict=True))
    return Trajectory(
        observations=typed(stack_trees(observations), env.observation_space),
        actions=np.array(actions, dtype=env.action_space.dtype),
        rewards=rewards.astype(np.float32),
        terminations=terminations,
        truncations=truncations,
        infos={name: _repeated(info[name], len(observations)) for name in facts},
        seed=seed,
    )


def typed(tree: Tree, space: gym.Space[Any]) -> Tree:
    """The leaves in the dtypes of their spaces."""
    return map_space(lambda leaf, values: values.astype(leaf.dtype, copy=False), space, tree)


def _repeated(fact: Any, rows: int) -> Array:
    return np.repeat(np.asarray(fact)[None], rows, axis=0)


def distracted(player: Player, space: gym.Space[Any], rng: np.random.Generator, epsilon: float) -> Player:
    """The player, except that an action is drawn at random with probability epsilon; it sees what was played."""
    space.seed(int(rng.integers(2**31)))

    def act(observation: Tree, previous: Any) -> Any:
        wanted = player(observation, previous)
        return space.sample() if rng.random() < epsilon else wanted

    return act
