"""ViZDoom-Two-Colors: a task of memory in first person, in a scenario that `scenario` writes from text.
`engine` and `guard` run the engine, `env` holds the rules, `expert` plays, `tasks` registers.
"""

from __future__ import annotations

from rate.envs.vizdoom.tasks import NAME

__all__ = ["NAME"]
