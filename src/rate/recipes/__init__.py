"""Every recipe; importing this package fills the registry."""

from rate.recipes import tmaze
from rate.recipes.recipe import RECIPES, recipe

__all__ = ["RECIPES", "recipe", "tmaze"]
