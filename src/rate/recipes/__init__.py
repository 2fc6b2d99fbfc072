"""Every recipe; importing this package fills the registry."""

from rate.recipes.recipe import RECIPES, recipe
from rate.recipes.suites import SUITES, Suite, SuiteRun, grid
from rate.registry import import_files

__all__ = ["RECIPES", "SUITES", "Suite", "SuiteRun", "grid", "recipe"]

import_files(__name__, __path__)
