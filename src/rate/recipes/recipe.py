"""The registry of recipes: a recipe is a function that returns a RunConfig.

A name is `environment/model`; `recipe(name)` gives the configuration, ready to be edited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rate.config import RunConfig, edit
from rate.registry import Registry

RECIPES: Registry[Callable[[], RunConfig]] = Registry("recipe", "rate list recipes")


def recipe(name: str, changes: Mapping[str, Any] | None = None) -> RunConfig:
    """The configuration of a recipe, with changes such as {"seed": 1, "model.memory_tokens": 5}."""
    return edit(RECIPES.get(name)(), changes or {})
