"""What every stored episode satisfies: lengths, shapes and dtypes of its spaces, finite numbers.

Both the writer and the check of a stored data set use these rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from rate.data.columns import Form, chunks, pack, space_columns, space_form, tree_form, unpack
from rate.data.limits import check_classes, check_row
from rate.data.packed import PackedColumn, StackedColumn
from rate.errors import DataError
from rate.spaces import map_space
from rate.types import Array, Spaces, Trajectory, Tree, tree_leaves, tree_map

NUMBERS = "biuf"
"""Kinds of dtypes that rewards may come in."""
INFOS = "biufcSU"
"""Kinds of dtypes that infos may have."""


def row_layout(space: gym.Space[Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The dtype and shape of one row of a leaf space."""
    if isinstance(space, gym.spaces.Text):
        check_row(4 * space.max_length)
        return np.dtype(f"U{space.max_length}"), ()
    if space.dtype is None or space.shape is None:
        raise DataError(f"space {type(space).__name__} cannot be stored; use Box, Discrete or a tree of them")
    if isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
        check_classes(int(space.n if isinstance(space, gym.spaces.Discrete) else space.nvec.sum()))
    dtype, shape = np.dtype(space.dtype), tuple(map(int, space.shape))
    check_row(math.prod(shape) * dtype.itemsize)
    return dtype, shape


def leaf_spaces(spaces: Spaces) -> dict[str, gym.Space[Any]]:
    """Column name -> space, for the observations and the actions."""
    if isinstance(spaces.action, (gym.spaces.Dict, gym.spaces.Tuple, gym.spaces.Text)):
        raise DataError(f"action space {type(spaces.action).__name__} cannot be stored; use one array")
    return {**space_columns(spaces.observation, "observations"), "actions": spaces.action}


def columns_of(trajectory: Trajectory, spaces: Spaces, infos: Form) -> dict[str, Array]:
    """All columns of an episode, checked; the message of a DataError names the column."""
    steps = len(trajectory)
    if steps == 0:
        raise DataError("it has no step; leave empty episodes out")
    columns = _observation_columns(trajectory, spaces)
    columns["actions"] = trajectory.actions
    for name, space in leaf_spaces(spaces).items():
        check_layout(name, columns[name], steps + name.startswith("observations"), *row_layout(space))
        check_values(name, columns[name], space)
    columns["rewards"] = check_rewards(trajectory.rewards, steps)
    for name in ("terminations", "truncations"):
        columns[name] = getattr(trajectory, name)
        check_layout(name, columns[name], steps, np.dtype(bool), ())
    return {**columns, **_info_columns(trajectory, infos)}


def _observation_columns(trajectory: Trajectory, spaces: Spaces) -> dict[str, Array]:
    try:
        return pack(trajectory.observations, space_form(spaces.observation), "observations")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("observations are not a tree of the form of the observation space") from error


def _info_columns(trajectory: Trajectory, infos: Form) -> dict[str, Array]:
    try:
        columns = pack(trajectory.infos, infos, "infos")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("infos have other names than those of the first episode; give all episodes the same") from error
    for name, rows in columns.items():
        if not isinstance(rows, np.ndarray) or rows.dtype.kind not in INFOS:
            raise DataError(f"{name} is not an array of numbers or fixed-width text; convert it")
        check_layout(name, rows, len(trajectory) + 1, rows.dtype, rows.shape[1:])
    return columns


def common_infos(episodes: Iterable[tuple[Mapping[str, Tree], int]]) -> tuple[dict[str, Tree], set[str]]:
    """The infos that all episodes have in one form, as trees without rows, and the names of the others.

    With the infos of an episode comes the number of rows that each of them must have.
    """
    kept: dict[str, Tree] | None = None
    seen = set[str]()
    for infos, rows in episodes:
        here = {name: _no_rows(tree) for name, tree in infos.items() if _has_rows(tree, rows)}
        both = here if kept is None else {name: _joined(kept[name], here[name]) for name in kept if name in here}
        kept = {name: tree for name, tree in both.items() if tree is not None}
        seen |= infos.keys()
    return kept or {}, seen - (kept or {}).keys()


def _has_rows(tree: Tree, rows: int) -> bool:
    return all(leaf.dtype.kind in INFOS and leaf.shape[:1] == (rows,) for leaf in tree_leaves(tree))


def _no_rows(tree: Tree) -> Tree:
    """The form of a tree, the dtypes of its leaves and the shapes of their rows."""
    return tree_map(lambda leaf: np.zeros_like(leaf[:0]), tree)


def _joined(one: Tree, other: Tree) -> Tree | None:
    """What holds the rows of both; None where nothing does."""
    form = tree_form(one)
    try:
        mine, theirs = pack(one, form, ""), pack(other, form, "")
        if any((mine[name].dtype.kind in "SU") != (theirs[name].dtype.kind in "SU") for name in mine):
            return None
        columns = {name: np.concatenate([mine[name], theirs[name]]) for name in mine}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return unpack(form, "", columns.__getitem__)


def like(tree: Tree, kind: Tree) -> Tree:
    """The tree in the dtypes of one that `common_infos` gives."""
    return tree_map(lambda leaf, wanted: leaf.astype(wanted.dtype, copy=False), tree, kind)


def reward_dtype(dtypes: Iterable[np.dtype[Any]]) -> np.dtype[Any]:
    """One for the rewards of all episodes: the widest float, where whole numbers and truth values count as float64."""
    numbers = [dtype for dtype in dtypes if dtype.kind in NUMBERS]
    return np.result_type(*(dtype if dtype.kind == "f" else np.float64 for dtype in numbers or [np.dtype(np.float64)]))


def as_rewards(rewards: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers in that dtype; anything else as it is, to be refused."""
    return rewards.astype(dtype, copy=False) if rewards.dtype.kind in NUMBERS else rewards


def conform(tree: Tree, space: gym.Space[Any], *, round_floats: bool = False) -> Tree:
    """Give the leaves the dtypes of their spaces where no value changes by it, or only by the rounding of floats."""

    def fitted(leaf: gym.Space[Any], column: Any) -> Array:
        values, dtype = np.asarray(column), row_layout(leaf)[0]
        rounds = round_floats and values.dtype.kind == dtype.kind == "f"
        changed = values.astype(dtype)
        return changed if rounds or np.array_equal(changed, values) else values

    return map_space(fitted, space, tree)


def check_rewards(rewards: Any, steps: int) -> Array:
    if not isinstance(rewards, np.ndarray) or rewards.dtype.kind not in "fiu":
        raise DataError("rewards are not an array of numbers; use float32")
    check_layout("rewards", rewards, steps, rewards.dtype, ())
    check_finite("rewards", rewards)
    return rewards


def check_layout(name: str, rows: Any, count: int, dtype: np.dtype[Any], row_shape: tuple[int, ...]) -> None:
    if not isinstance(rows, (np.ndarray, PackedColumn, StackedColumn)):
        raise DataError(f"{name} is a {type(rows).__name__}, not a NumPy array; convert it")
    if rows.shape != (count, *row_shape):
        raise DataError(f"{name} has shape {rows.shape} where {(count, *row_shape)} is expected")
    if rows.dtype != dtype and not _narrower_text(rows.dtype, dtype):
        raise DataError(f"{name} has dtype {rows.dtype} where {dtype} is expected; convert it")


def _narrower_text(dtype: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    return dtype.kind in "SU" and dtype.kind == expected.kind and dtype.itemsize <= expected.itemsize


def check_values(name: str, rows: Array, space: gym.Space[Any]) -> None:
    """Finite numbers and existing classes. The bounds of a Box are not enforced: simulators overstep them."""
    classes = isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete))
    if rows.dtype.kind != "f" and not classes:  # any value will do: images are not unpacked for it
        return
    for part in chunks(rows):
        check_finite(name, part)
        if classes:
            _check_classes(name, part, space)


def check_finite(name: str, rows: Array) -> None:
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        raise DataError(f"{name} holds a value that is not finite; remove or repair the episode")


def _check_classes(name: str, rows: Array, space: Any) -> None:
    count = space.n if isinstance(space, gym.spaces.Discrete) else space.nvec
    if (rows < space.start).any() or (rows - space.start >= count).any():
        raise DataError(f"{name} holds a value outside of {space}")
