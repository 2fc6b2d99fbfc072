"""The ways in which a policy can act, by name: prompts (`models/prompts.py`) and interventions.

They are imported when one is used, so that a name can be checked and listed without torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rate.errors import ConfigError
from rate.registry import Registry

if TYPE_CHECKING:
    from rate.models.interventions import Intervention
    from rate.models.prompts import Prompt

PROMPTS: Registry[type[Prompt]] = Registry("prompt", "rate list prompts")
"""Name to class."""
INTERVENTIONS: Registry[Callable[[float], Intervention]] = Registry("intervention", "rate list interventions")
"""Name to a function of the strength, such as a class."""

PROMPTS.announce("PROMPTS", "rate.models.prompts")
INTERVENTIONS.announce("INTERVENTIONS", "rate.models.interventions")


def read_intervention(text: str) -> tuple[str, Intervention]:
    """`memory-noise=0.5` -> its name in full, and what it says; without a strength it is 1."""
    name, equals, value = text.partition("=")
    make = INTERVENTIONS.get(name)
    try:
        strength = float(value) if equals else 1.0
    except ValueError:
        strength = math.nan
    if not math.isfinite(strength):
        raise ConfigError(f"the strength of {name} is {value!r}; it must be a number")
    return f"{name}={strength:.12g}", make(strength)
