"""The registry of recipes: a recipe is a function that returns a RunConfig.

A name is `environment/model`; `recipe(name)` gives the configuration, ready to be edited.
"""

from __future__ import annotations

from collections.abc import Callable

from rate.config import RunConfig
from rate.registry import Registry

RECIPES: Registry[Callable[[], RunConfig]] = Registry("recipe")


def recipe(name: str) -> RunConfig:
    """The configuration of a recipe."""
    return RECIPES.get(name)()
