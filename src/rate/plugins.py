"""Plug-ins: modules of the user's whose import registers models, environments, recipes and whatever has a registry.

The user of a command names them (`--import`), or a package that they installed does (entry points `rate.plugins`).
Nothing that is stored in a run or a data set ever decides what is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from types import ModuleType

from rate.errors import ConfigError
from rate.registry import SOURCES

GROUP = "rate.plugins"
"""The entry points of installed packages: each names a module."""

NAMED: list[str] = []
"""The modules that the user of this command named."""

NOT_NEEDED = {__name__.partition(".")[0], "__main__", "__mp_main__"}
"""A spawned process imports the library and the main program by itself."""


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A module that an installed package offers."""

    module: str
    package: str
    fault: str = ""
    """Why it cannot be imported; empty: it is."""


def import_named(name: str) -> ModuleType:
    """Import a module; behind all other places, the current directory is one to look in."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigError(f"no module {error.name!r} in {here}, and none of that name is installed") from None
        raise ConfigError(f"module {name!r} cannot be imported: {describe(error)}") from error
    except Exception as error:
        raise ConfigError(f"module {name!r} cannot be imported: {describe(error)}") from error


def use(names: Iterable[str]) -> None:
    """Import the modules that the user of a command names."""
    NAMED[:] = dict.fromkeys(names)
    for name in NAMED:
        if name.endswith(".py") or not all(part.isidentifier() for part in name.split(".")):
            meant = name.removesuffix(".py").replace(os.sep, ".").strip(".")
            raise ConfigError(f"--import takes the name of a module, not {name!r}: --import {meant}")
        import_named(name)


def options() -> list[str]:
    """The words that name the same modules again, for a command that is shown to the user or kept with a run."""
    return [word for name in NAMED for word in ("--import", name)]


def load_installed() -> list[Plugin]:
    """Import what installed packages offer. One that is broken is named, and does not stop the others."""
    return [_load(entry) for entry in sorted(metadata.entry_points(group=GROUP), key=lambda one: one.name)]


def _load(entry: metadata.EntryPoint) -> Plugin:
    package = entry.dist.name if entry.dist else "an unknown package"
    try:
        importlib.import_module(entry.module)
    except (Exception, SystemExit) as error:
        return Plugin(module=entry.module, package=package, fault=describe(error))
    return Plugin(module=entry.module, package=package)


def needed() -> list[str]:
    """The modules that another process must import to know the names that this one knows."""
    others = (name for name in SOURCES if name.partition(".")[0] not in NOT_NEEDED)
    return list(dict.fromkeys([*NAMED, *others]))


def importer() -> Callable[[], None]:
    """What another process calls to know these names; it can be sent there."""
    return partial(import_needed, needed())


def import_needed(names: Iterable[str]) -> None:
    """In a worker: import what `needed` named; what is not there will be missed by its name."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def describe(error: BaseException) -> str:
    """An error in one short line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
