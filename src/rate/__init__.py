"""rate: memory for offline reinforcement learning.

Train a policy from logged trajectories of a partially observable task; run it for any horizon at constant cost.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import rate.envs  # noqa: F401  so that gymnasium.make knows the environments

if TYPE_CHECKING:
    from rate.api import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The names of `rate.api`; torch is imported with the first of them."""
    is_file = not name.startswith("_") and importlib.util.find_spec(f"rate.{name}")  # `from rate import plugins`
    if name == "__all__" or not (is_file or name.startswith("_")):
        api = importlib.import_module("rate.api")
        if name == "__all__" or name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *importlib.import_module("rate.api").__all__])
