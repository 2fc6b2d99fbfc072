"""POPGym: 48 partially observable tasks of the `popgym` package, with experts for all of them.
`tasks` holds the table and registers it, `wrap` makes the environments, `cards`, `grids`, `mazes` and
`control` play them, `grades` makes them err.
"""

from __future__ import annotations

from rate.envs.popgym.tasks import FAMILIES, LEVELS, PLAYED, TASKS, Family

__all__ = ["FAMILIES", "LEVELS", "PLAYED", "TASKS", "Family"]
