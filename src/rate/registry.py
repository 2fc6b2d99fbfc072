"""A registry of named values with a did-you-mean for the name that is not there.

Environments, models, valves, objectives and recipes each have one.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from rate.errors import UnknownNameError

T = TypeVar("T")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest to a wrong one, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else "there is none"


def check_names(given: Iterable[str], known: Iterable[str], kind: str) -> None:
    """Refuse the first of the given names that is not known."""
    names = list(known)
    for name in given:
        if name not in names:
            raise UnknownNameError(f"unknown {kind} {name!r}; {did_you_mean(name, names)}")


def families(names: Sequence[str]) -> list[str]:
    """The names, those with a slash gathered by what stands before it."""
    counts = Counter(name.partition("/")[0] for name in names)
    whole = set(names)
    return [name if name in whole else f"{name}/... ({count})" for name, count in counts.items()]


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
        raise UnknownNameError(f"unknown {self.kind} {name!r}; {did_you_mean(name, self.names())}")

    def names(self) -> list[str]:
        return sorted(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())


CONFIG_CLASSES: Registry[type] = Registry("configuration")
"""Class name to class, to read the configurations of models and objectives back from JSON."""
