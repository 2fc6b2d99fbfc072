"""Memory Maze: four mazes of the package `memory-maze`, drawn six times as fast, with an expert that remembers.
`env` is the environment, `simulator`, `lean` and `view` run and draw the package's maze, `graphics` finds OpenGL,
`navigator` is the expert, `tasks` registers all of it.
"""

from __future__ import annotations

from rate.envs.memory_maze.tasks import GRADES, NAMES

__all__ = ["GRADES", "NAMES"]
