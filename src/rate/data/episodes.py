"""One episode of a foreign file as a trajectory.

Steps keep their alignment: observations[t] is seen before actions[t], rewards[t] follows it. Where a source has no
observation after the last step of an episode, that is next_observations[-1], or else the last one is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.data.checks import as_rewards, conform
from rate.data.flat import FOLLOWING, INFOS, Episode
from rate.errors import DataError
from rate.system.files import shown
from rate.types import Array, Spaces, Trajectory, Tree, tree_leaves, tree_map


def as_trajectory(episode: Episode, spaces: Spaces, reward_type: np.dtype[Any], index: int) -> Trajectory:
    """An episode without an end is cut off at its last step."""
    rewards = np.asarray(episode["rewards"])
    rewards = rewards.reshape(-1) if rewards.ndim == 2 and rewards.shape[1] == 1 else rewards
    steps = len(rewards)
    try:
        terminations, truncations = _ends(episode, steps)
        observations = conform(_with_last(episode, steps), spaces.observation, round_floats=True)
        actions = conform(_shaped(episode["actions"], spaces.action.shape, steps), spaces.action, round_floats=True)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"episode {index} does not have the form of its spaces: {shown(error)}") from error
    if steps and not (terminations[-1] or truncations[-1]):
        truncations[-1] = True
    return Trajectory(
        observations=observations,
        actions=actions,
        rewards=as_rewards(rewards, reward_type),
        terminations=terminations,
        truncations=truncations,
        # Infos have one row per observation.
        infos=tree_map(lambda rows: np.concatenate([rows, rows[-1:]]), episode.get(INFOS, {})),
    )


def only_dones(episode: Episode) -> bool:
    return "dones" in episode and "terminals" not in episode


def _ends(episode: Episode, steps: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The flags of both ends. Where there are no terminals, a done that is no timeout is one."""
    truncations = _flags(episode.get("timeouts"), steps)
    if only_dones(episode):
        return _flags(episode["dones"], steps) & ~truncations, truncations
    return _flags(episode.get("terminals"), steps), truncations


def _flags(values: Any, steps: int) -> NDArray[np.bool_]:
    given = np.zeros(steps, bool) if values is None else np.asarray(values).reshape(-1)
    flags = given.astype(bool)
    if (given != flags).any():
        raise ValueError("a flag of its end is neither 0 nor 1")
    if len(flags) == 1 < steps:  # one flag for the whole episode
        flags = np.append(np.zeros(steps - 1, bool), flags)
    if len(flags) != steps:
        raise ValueError(f"it has {steps} steps and {len(flags)} flags of its end")
    return flags


def _shaped(actions: Any, shape: tuple[int, ...] | None, steps: int) -> Array:
    """Actions of one component may be written with or without an axis for it."""
    values = np.asarray(actions)
    one = shape in ((), (1,)) and values.size == steps
    return values.reshape(steps, *(shape or ())) if one else values


def _with_last(episode: Episode, steps: int) -> Tree:
    """The observations with the one that followed the last step."""
    observations = arrays(episode["observations"])
    if any(len(leaf) != steps for leaf in tree_leaves(observations)) or not steps:
        return observations
    following = arrays(episode[FOLLOWING]) if FOLLOWING in episode else observations
    if any(len(leaf) != steps for leaf in tree_leaves(following)):
        raise ValueError(f"next_observations do not have a row for each of its {steps} steps")
    return tree_map(lambda leaf, last: np.concatenate([leaf, last[-1:]]), observations, following)


def arrays(tree: Tree) -> Tree:
    """Lists of numbers as arrays."""
    if isinstance(tree, Mapping):
        return {key: arrays(part) for key, part in tree.items()}
    if isinstance(tree, tuple) and all(isinstance(part, (np.ndarray, tuple, Mapping)) for part in tree):
        return tuple(map(arrays, tree))
    return np.asarray(tree)
