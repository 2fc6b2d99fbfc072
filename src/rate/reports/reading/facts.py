"""Single facts that a run wrote down of itself, where they are there and make sense; else None or nothing."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rate.system.files import LONGEST_LINE, shown


def number(value: Any) -> float | None:
    """A finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def numbers(stored: Any, names: Sequence[str]) -> tuple[float, ...] | None:
    """The named values of an object, where all of them are numbers."""
    found = [number(stored.get(name)) for name in names] if isinstance(stored, Mapping) else [None]
    return None if None in found else tuple(value for value in found if value is not None)


def command(arguments: Any) -> str:
    """A command line, as a shell takes it."""
    return shown(shlex.join(map(str, arguments)), 4 * LONGEST_LINE) if isinstance(arguments, list) else ""


def began(stored: Any) -> list[str]:
    """Where the weights of a run began, if with those of another."""
    if not isinstance(stored, Mapping):
        return []
    return [f"began with the weights of {shown(stored.get('path'))}, step {shown(stored.get('step'))}"]
