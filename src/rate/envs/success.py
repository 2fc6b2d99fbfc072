"""When an episode counts as a success, in words: "return >= 1", "length < 200".

A rule is read by a grammar of three words; nothing of it is ever run.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rate.errors import ConfigError

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
RULE = re.compile(r"\s*(return|length)\s*(>=|<=|==|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")


@dataclass(frozen=True)
class Rule:
    """What of an episode is compared with which number."""

    what: str
    comparison: str
    number: float

    @classmethod
    def read(cls, text: str) -> Rule:
        found = RULE.fullmatch(text) if len(text) <= 100 else None
        try:
            number = float(found[3]) if found else math.nan
        except ValueError:
            number = math.nan
        if found is None or not math.isfinite(number):
            raise ConfigError(f'env.success is {text[:100]!r}; write it as "return >= 1" or "length < 200"')
        return cls(found[1], found[2], number)

    def __call__(self, episode_return: float, length: int) -> bool:
        value = episode_return if self.what == "return" else length
        return COMPARISONS[self.comparison](value, self.number)
