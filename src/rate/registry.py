"""A registry of named values with a did-you-mean for the name that is not there.

Environments, models, valves, objectives and recipes each have one.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import InspectLoader
from typing import Any, Generic, TypeVar, cast

from rate.errors import UnknownNameError

T = TypeVar("T")


NEAR = 5
"""Names that a mistake is answered with, at most."""
LONGEST = 100
"""Characters of a name beyond which it is like none: to compare long ones takes minutes."""
SHORT = 120
"""Characters up to which all names are given where none is near."""


def near(name: str, known: Iterable[str]) -> list[str]:
    """The few known names that may have been meant, the likeliest first."""
    if len(name) > LONGEST:
        return []
    alike = {one: difflib.SequenceMatcher(None, name, one).ratio() for one in known}
    least = max(0.5, max(alike.values(), default=0.0) - 0.15)
    close = sorted((one for one in alike if alike[one] >= least), key=lambda one: -alike[one])
    return (close or sorted(one for one in alike if len(name) > 2 and name.lower() in one.lower()))[:NEAR]


def did_you_mean(name: str, known: Iterable[str], listing: str = "") -> str:
    """What to answer to a wrong name: those near to it, else all in short; `listing` is the command that shows them."""
    names = sorted(known)
    close = [repr(one) for one in near(name, names)]
    if close:
        meant = f"{', '.join(close[:-1])} or {close[-1]}" if close[1:] else close[0]
        return f"did you mean {meant}?{f' {listing} shows all' if listing and close[1:] else ''}"
    if not names:
        return "there is none"
    for listed in (", ".join(names), ", ".join(families(names))):
        if len(listed) <= SHORT:
            break
    else:
        listed = f"{', '.join(names[:NEAR])} and {len(names) - NEAR} more"
    return f"known: {listed}{f'; {listing} shows all' if listing and listed != ', '.join(names) else ''}"


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


SOURCES: dict[str, None] = {}
"""The modules that have registered something, in order: what another process must import to know the same names."""


def _caller() -> str:
    """The module, outside of this one, whose code is registering something."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


@dataclass(frozen=True, kw_only=True)
class Later:
    """A value that is imported when it is first asked for."""

    where: str
    """module:attribute"""
    summary: str

    def load(self) -> Any:
        module, _, name = self.where.partition(":")
        return getattr(importlib.import_module(module), name)

    def is_of(self, value: object) -> bool:
        """Whether this is the value, which its module has registered by now."""
        return self.where == f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', '')}"


class Registry(Generic[T]):
    """Names to values, filled at import time by the files that own the values.

    `listing` is the command that shows the names.
    """

    def __init__(self, kind: str, listing: str = "") -> None:
        self.kind, self.listing = kind, listing
        self._values: dict[str, T | Later] = {}

    def add(self, name: str, value: T) -> T:
        self._set(name, value)
        return value

    def later(self, name: str, where: str, summary: str) -> None:
        """As `add`, of what `module:attribute` names: nothing is imported before it is asked for."""
        self._set(name, Later(where=where, summary=summary))

    def announce(self, variable: str, *modules: str) -> None:
        """Know the classes that modules register with `@variable.register(name)`, by their text.

        A module is imported when one of them is asked for: to list and to check names takes no torch.
        """
        for module in modules:
            for node in ast.parse(_source(module)).body:
                if isinstance(node, ast.ClassDef):
                    summary = (ast.get_docstring(node) or "").partition("\n")[0]
                    for name in _registered(node, variable):
                        self.later(name, f"{module}:{node.name}", summary)

    def _set(self, name: str, value: T | Later) -> None:
        known = self._values.get(name)
        if known is not None and not (isinstance(known, Later) and known.is_of(value)):
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._values[name] = value
        SOURCES.setdefault(_caller())

    def register(self, name: str) -> Callable[[T], T]:
        """As `add`, for use as a decorator."""
        return lambda value: self.add(name, value)

    def get(self, name: str) -> T:
        self.check(name)
        value = self._values[name]
        if isinstance(value, Later):
            value = self._values[name] = cast(T, value.load())
        return value

    def check(self, name: str) -> None:
        """Refuse a name that is not known; nothing is imported for it."""
        if name in self._values:
            return
        raise UnknownNameError(f"unknown {self.kind} {name!r}; {did_you_mean(str(name), self.names(), self.listing)}")

    def summary(self, name: str) -> str:
        """One line: what the owner says of it."""
        value = self._values[name]
        text = getattr(value, "summary", None) or (value.__doc__ if hasattr(value, "__name__") else None) or ""
        return str(text).partition("\n")[0]

    def names(self) -> list[str]:
        return sorted(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())


def _source(module: str) -> str:
    found = importlib.util.find_spec(module)
    assert found is not None and isinstance(found.loader, InspectLoader), f"there is no module {module}"
    return found.loader.get_source(module) or ""


def _registered(node: ast.ClassDef, variable: str) -> Iterator[str]:
    """The names under which a class is registered."""
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == f"{variable}.register":
            yield str(ast.literal_eval(mark.args[0]))


def import_files(package: str, path: Iterable[str]) -> None:
    """Import every file of a package, in the order of their names, so that each registers what it owns."""
    for found in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{found.name}")


CONFIG_CLASSES: Registry[type] = Registry("configuration")
"""Class name to class, to read the configurations of models and objectives back from JSON."""
