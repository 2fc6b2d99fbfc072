"""Every recipe; importing this package fills the registry."""

from rate.recipes import aar, minigrid, popgym, standard, tmaze, tmaze_endless
from rate.recipes.recipe import RECIPES, recipe
from rate.recipes.suites import SUITES, Suite, SuiteRun, grid

__all__ = [
    "RECIPES",
    "SUITES",
    "Suite",
    "SuiteRun",
    "aar",
    "grid",
    "minigrid",
    "popgym",
    "recipe",
    "standard",
    "tmaze",
    "tmaze_endless",
]
