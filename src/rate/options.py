"""Options as words: name=value, as a command line or a configuration gives them to an environment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rate.errors import ConfigError
from rate.serial import Stored


def parse_options(strings: Sequence[str]) -> dict[str, Any]:
    """["length=9", "name=up"] -> {"length": 9, "name": "up"}: values are JSON where they can be, else text."""
    options: dict[str, Any] = {}
    for string in strings:
        name, equals, text = string.partition("=")
        if not equals or not name.isidentifier():
            raise ConfigError(f"option {string!r} is not of the form name=value")
        if name in options:
            raise ConfigError(f"option {name!r} is given twice")
        options[name] = _option(Stored(text) if isinstance(string, Stored) else text)
    return options


def _option(text: str) -> Any:
    """A JSON value where it is one. What a file gave is a number, a truth value or null; all else is text, marked."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    if not isinstance(text, Stored) or value is None or isinstance(value, (bool, int, float)):
        return value
    return Stored(value) if isinstance(value, str) else text


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
