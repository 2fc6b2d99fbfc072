"""The registry of suites: a suite is a named list of runs that belong in one report.

`rate suite NAME` trains and evaluates them; a suite only says which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rate.config import RunConfig
from rate.registry import Registry


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """One run of a suite."""

    name: str
    """Its directory under that of the suite, such as rate-30/seed0."""
    config: RunConfig


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Runs that belong together."""

    name: str
    summary: str
    """One line for `rate list suites`."""
    runs: Callable[[], Sequence[SuiteRun]]
    """The runs; a function, so that a suite that nobody asks for costs nothing."""


SUITES: Registry[Suite] = Registry("suite", "rate list suites")
