"""A registry of named values with a did-you-mean for the name that is not there.

Environments, models, valves, objectives and recipes each have one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from rate.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names to values, filled at import time by the files that own the values."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._values: dict[str, T] = {}

    def add(self, name: str, value: T) -> T:
        if name in self._values:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._values[name] = value
        return value

    def register(self, name: str) -> Callable[[T], T]:
        """As `add`, for use as a decorator."""
        return lambda value: self.add(name, value)

    def get(self, name: str) -> T:
        if name in self._values:
            return self._values[name]
        close = difflib.get_close_matches(name, self._values, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(self.names())}"
        raise UnknownNameError(f"unknown {self.kind} {name!r}; {hint}")

    def names(self) -> list[str]:
        return sorted(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())
