"""Flat columns, as D4RL and NPZ files hold them, cut into episodes.

A column has a key of one or more parts: ("actions",), or ("observations", "image") for a part of a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.errors import DataError
from rate.system.files import shown
from rate.types import Tree

Key = tuple[str, ...]
Flat = Mapping[Key, Any]
"""Key -> rows: an array, or what slices like one."""
Episode = Mapping[str, Any]
"""Name -> the rows of one episode; `observations`, `next_observations` and `infos` may be trees."""

SYNONYMS = {"terminations": "terminals", "truncations": "timeouts", "episode_offsets": "offsets"}
NEEDED = ("observations", "actions", "rewards")
ENDS = ("terminals", "timeouts", "dones")
FOLLOWING = "next_observations"
INFOS = "infos"
KNOWN = (*NEEDED, *ENDS, FOLLOWING)
NUMBERS = "biufc"
"""Kinds of dtypes that the infos of these formats may have."""


def common_name(name: str) -> str:
    """The name that we use for a column."""
    return SYNONYMS.get(name, name)


def is_read(name: str) -> bool:
    """Whether a column of that name, or the tree of it, has a place in a data set."""
    return common_name(name) in (*KNOWN, "offsets", INFOS)


def nested(columns: Flat) -> Tree:
    """The tree of some columns; parts that are numbered from 0 on, plainly or as Minari does it, are a tuple."""
    if set(columns) == {()}:
        return columns[()]
    if () in columns or any("" in key for key in columns):
        raise DataError("a column has a part without a name, or is both an array and a group of arrays")
    heads = dict.fromkeys(key[0] for key in columns)
    return as_tuple({head: nested(below(columns, head)) for head in heads})


def below(columns: Flat, head: str) -> dict[Key, Any]:
    """The columns of one tree, their keys without its name."""
    return {key[1:]: rows for key, rows in columns.items() if key[0] == head}


def as_tuple(parts: dict[str, Any]) -> Tree:
    for pattern in ("{}", "_index_{}"):
        numbered = [pattern.format(index) for index in range(len(parts))]
        if parts and set(parts) == set(numbered):
            return tuple(parts[name] for name in numbered)
    return parts


def check_columns(columns: Flat, where: str) -> None:
    """Refuse what lacks a column, or has none in its place."""
    for name in NEEDED:
        found = below(columns, name)
        if not found:
            held = sorted({key[0] for key in columns})
            raise DataError(f"{where} has no {name!r}; it holds {shown(', '.join(held)) or 'nothing'}")
        if name != "observations" and set(found) != {()}:
            raise DataError(f"{where} has a dict as {name!r}; it must be one array")
        if any(np.ndim(rows) == 0 for rows in found.values()):
            raise DataError(f"{where} has a single value as {name!r}; it must have a row per step")


def cut(flat: Flat, where: str) -> tuple[Iterator[Episode], set[str]]:
    """The episodes: those that `offsets` name, else up to each terminal, timeout or done; and what is left out."""
    steps = len(flat["rewards",])
    offsets = _offsets(flat, steps, where)
    count = len(offsets) - 1
    rows = {key: len(column) if np.ndim(column) else 0 for key, column in flat.items() if key[0] != "offsets"}
    seen = {found for key, found in rows.items() if key[0] == "observations"}
    padded = seen == {steps + count} and ("offsets",) in flat
    for key, found in rows.items():
        wanted = steps + count if padded and key[0] == "observations" else steps
        if key[0] in KNOWN and found != wanted:
            raise DataError(f"{where} has {found} rows of {shown('/'.join(key))!r} where {wanted} are expected")
    kept = [key for key in rows if key[0] in KNOWN or _is_info(key, flat[key], steps)]

    def episodes() -> Iterator[Episode]:
        for index in range(count):
            start, stop = int(offsets[index]), int(offsets[index + 1])
            wide = {"observations": slice(start + index, stop + index + 1)} if padded else {}
            yield _episode({key: flat[key][wide.get(key[0], slice(start, stop))] for key in kept})

    return episodes(), {"/".join(key) for key in rows.keys() - set(kept)}


def _is_info(key: Key, rows: Any, steps: int) -> bool:
    return len(key) > 1 and np.ndim(rows) > 0 and rows.dtype.kind in NUMBERS and len(rows) == steps


def _episode(rows: Flat) -> dict[str, Any]:
    """The trees of one episode."""
    return {name: nested(below(rows, name)) for name in dict.fromkeys(key[0] for key in rows)}


def _offsets(flat: Flat, steps: int, where: str) -> NDArray[np.int64]:
    if ("offsets",) in flat:
        offsets = np.atleast_1d(np.asarray(flat["offsets",])).astype(np.int64)
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != steps or (np.diff(offsets) < 0).any():
            raise DataError(f"the offsets of {where} do not rise from 0 to the number of steps, {steps}")
        return offsets
    if not any((name,) in flat for name in ENDS):
        held = ", ".join(sorted("/".join(key) for key in flat))
        raise DataError(
            f"{where} does not tell where its episodes end; give it terminals and timeouts, dones, or offsets; "
            f"it holds {shown(held)}"
        )
    ends = np.zeros(steps, bool)
    for name in ENDS:
        if (name,) in flat and np.shape(flat[name,])[:1] == (steps,):
            ends |= np.asarray(flat[name,][:]).astype(bool).reshape(-1)
    after = np.flatnonzero(ends) + 1
    return np.unique(np.concatenate([[0], after, [steps]])).astype(np.int64)
