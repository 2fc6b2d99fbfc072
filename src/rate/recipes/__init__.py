"""Every recipe; importing this package fills the registry."""

from rate.recipes import tmaze
from rate.recipes.recipe import RECIPES, recipe
from rate.recipes.suite import SUITES, Suite, SuiteRun

__all__ = ["RECIPES", "SUITES", "Suite", "SuiteRun", "recipe", "tmaze"]
