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

for _name, _owner, _summary in (
    ("countdown", "Countdown", "The target less the rewards so far, as in the data."),
    ("constant", "Constant", "The target at every step."),
    ("per-segment", "PerSegment", "A countdown that begins anew with the target in every segment."),
    ("none", "NoReturn", "Nothing is asked for: of a policy whose steps have no token for the return."),
):
    PROMPTS.later(_name, f"rate.models.prompts:{_owner}", _summary)

for _name, _owner, _summary in (
    ("memory-noise", "MemoryNoise", "memory = (1 - a) memory + a noise, after every segment."),
    ("cache-noise", "CacheNoise", "The same for the cached hidden states of every layer."),
    ("memory-swap", "MemorySwap", "memory = (1 - a) memory + a (memory of another episode), after the first segment."),
    ("cache-swap", "CacheSwap", "The same for the cached hidden states of every layer."),
):
    INTERVENTIONS.later(_name, f"rate.models.interventions:{_owner}", _summary)


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
