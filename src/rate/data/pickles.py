"""Pickled lists of episodes, read by an unpickler that knows arrays and plain containers and nothing else.

A pickle is a program: the usual reader runs whatever the file names. This one refuses every other name.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rate.errors import DataError

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
            f"{path} is a pickle, and to read a pickle is to run code from it; if you trust where it comes from, "
            "add --allow-pickle-code"
        )
    try:
        with path.open("rb") as file:
            listed = _PlainUnpickler(file).load()
    except _Refused as refused:
        raise DataError(f"{path} asks for {refused}; only arrays, numbers, texts, lists and dicts are read") from None
    except Exception as error:  # a damaged program may fail in any way
        raise DataError(f"{path} is not a readable pickle: {type(error).__name__}: {str(error)[:100]}") from error
    episodes = list(listed) if isinstance(listed, (list, tuple)) else []
    if not episodes or not all(isinstance(item, Mapping) for item in episodes):
        raise DataError(f"{path} holds no list of dicts, one per episode with observations, actions and rewards")
    return episodes
