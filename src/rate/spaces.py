"""Trees of Gymnasium spaces: Dict and Tuple are branches, every other space is a leaf.

A value of a space is a tree with the same branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium as gym

from rate.types import Tree

Key = str | int


def branches(space: gym.Space[Any]) -> Mapping[Any, gym.Space[Any]] | None:
    """The parts of a Dict by their keys, those of a Tuple by their numbers; None: a leaf."""
    if isinstance(space, gym.spaces.Dict):
        return space.spaces
    if isinstance(space, gym.spaces.Tuple):
        return dict(enumerate(space.spaces))
    return None


def leaves(space: gym.Space[Any], path: tuple[Key, ...] = ()) -> Iterator[tuple[tuple[Key, ...], gym.Space[Any]]]:
    """The leaves, each with the keys that lead to it."""
    parts = branches(space)
    if parts is None:
        yield path, space
    else:
        for key, part in parts.items():
            yield from leaves(part, (*path, key))


def map_space(function: Callable[..., Any], space: gym.Space[Any], *values: Tree) -> Tree:
    """Apply a function to every leaf and the parts of the values that belong to it; the results as a tree.

    LookupError, TypeError or ValueError where a value has other branches; further keys of a dict are dropped.
    """
    parts = branches(space)
    if parts is None:
        return function(space, *values)
    mapped = {key: map_space(function, part, *(value[key] for value in values)) for key, part in parts.items()}
    if isinstance(space, gym.spaces.Dict):
        return mapped
    if any(len(value) != len(parts) for value in values):
        raise ValueError(f"a value does not have {len(parts)} parts, as {space} has")
    return tuple(mapped.values())
