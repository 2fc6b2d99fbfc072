"""Pickled lists of episodes, read by an unpickler that knows arrays and plain containers and nothing else.

A pickle is a program: the usual reader runs whatever the file names. This one refuses every other name.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rate.data.checks import common_infos, like
from rate.data.episodes import arrays
from rate.data.flat import FOLLOWING, INFOS, KNOWN, NEEDED, NUMBERS, Key, check_columns, common_name, nested
from rate.errors import DataError
from rate.system.files import shown
from rate.types import Array

ADMITTED = {
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
    ),
}


class _Refused(Exception):
    pass


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return _latin  # how old protocols write bytes
        if (module, name) not in ADMITTED:
            raise _Refused(f"{module}.{name}")
        return super().find_class(module, name)


def _latin(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise _Refused(f"the encoding {encoding}")
    return text.encode("latin1")


def read_pickle(path: Path, allowed: bool) -> list[Mapping[str, Any]]:
    """The list of dicts that a file holds, if the user has allowed to read a pickle at all."""
    if not allowed:
        raise DataError(
            f"{shown(path)} is a pickle, and to read a pickle is to run code from it; "
            "if you trust where it comes from, add --allow-pickle-code"
        )
    try:
        with path.open("rb") as file:
            listed = _PlainUnpickler(file).load()
    except _Refused as refused:
        asked = f"{shown(path)} asks for {shown(refused)}"
        raise DataError(f"{asked}; only arrays, numbers, texts, lists and dicts are read") from None
    except Exception as error:  # a damaged program may fail in any way
        reason = f"{type(error).__name__}: {shown(error, 100)}"
        raise DataError(f"{shown(path)} is not a readable pickle: {reason}") from error
    episodes = list(listed) if isinstance(listed, (list, tuple)) else []
    if not episodes or not all(isinstance(item, Mapping) for item in episodes):
        wanted = "one per episode with observations, actions and rewards"
        raise DataError(f"{shown(path)} holds no list of dicts, {wanted}")
    return episodes


def pickled_episodes(path: Path, allowed: bool) -> tuple[list[dict[str, Any]], set[str]]:
    """The episodes of a file, with the infos that all of them have in one form; and the names of what is left out."""
    listed = [_in_rows(item, f"episode {index} of {path}") for index, item in enumerate(read_pickle(path, allowed))]
    infos = [_infos(item) for item in listed]
    rows = [len(item["rewards"]) for item in listed]
    kinds, _ = common_infos(zip(infos, rows, strict=True))
    dropped = {name for item in listed for name in item if name not in KNOWN and _info_name(name) not in kinds}
    episodes = []
    for item, found in zip(listed, infos, strict=True):
        columns = {name: values for name, values in item.items() if name in KNOWN}
        fitting = {tuple(name.split("/")): like(found[name], kind) for name, kind in kinds.items()}
        episodes.append({**columns, **({INFOS: nested(fitting)} if fitting else {})})
    return episodes, dropped


def _in_rows(episode: Mapping[str, Any], where: str) -> dict[str, Any]:
    """An episode; what it must hold may be written as lists, and infos as a dict of them."""
    columns: dict[str, Any] = {}
    for name, values in episode.items():
        columns |= _named(common_name(str(name)), values)
    try:
        given = {name: arrays(columns[name]) for name in (*NEEDED, FOLLOWING) if name in columns}
    except ValueError as error:
        raise DataError(f"{shown(where)} has rows that are not of one shape: {shown(error)}") from error
    check_columns({key: rows for name, tree in given.items() for key, rows in _leaves(tree, (name,))}, shown(where))
    return {**columns, **given}


def _leaves(tree: Any, key: Key) -> list[tuple[Key, Any]]:
    if not isinstance(tree, Mapping):
        return [(key, tree)]
    return [leaf for name, part in tree.items() for leaf in _leaves(part, (*key, str(name)))]


def _named(name: str, values: Any) -> dict[str, Any]:
    """The infos of a dict under names of their own."""
    if not isinstance(values, Mapping) or not name.startswith(INFOS):
        return {name: values}
    return {key: part for inner, value in values.items() for key, part in _named(f"{name}/{inner}", value).items()}


def _info_name(name: str) -> str:
    return name.removeprefix(f"{INFOS}/") if name.startswith(f"{INFOS}/") else ""


def _infos(episode: Mapping[str, Any]) -> dict[str, Array]:
    """Columns infos/NAME that have a row of numbers per step."""
    found = {_info_name(name): _info_rows(values) for name, values in episode.items() if _info_name(name)}
    steps = len(episode["rewards"])
    return {name: rows for name, rows in found.items() if rows.dtype.kind in NUMBERS and len(rows) == steps > 0}


def _info_rows(values: Any) -> Array:
    try:
        return np.atleast_1d(np.asarray(values))
    except ValueError:  # lists of several lengths
        return np.array([])
