"""Minigrid-Memory: look at the object in the first room, walk down the corridor, go to the same object at its end.
The environment of the paper's section "Minigrid-Memory", on the `minigrid` package, with an expert that looks first.

An episode is a function of its seed: the package draws the start column and the objects from it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.minigrid_expert import ExpertOptions, expert, mean_length, player
from rate.envs.minigrid_grid import VIEW, VIEW_OFFSETS, MinigridMemoryBatch, MinigridTask, memory_env, observe
from rate.envs.spec import ENVS, EnvSpec, EvalCase
from rate.errors import ConfigError
from rate.score import Score

RENDER_COLUMNS = 41
"""Wider grids are drawn around the agent."""
RENDER_ROWS = 7
"""No agent leaves these rows in the middle."""
RENDER_TILE = 16
GLYPHS = {"wall": "#", "key": "K", "ball": "B"}
ARROWS = ">v<^"


class MinigridMemoryEnv(gym.Env[NDArray[np.uint8], np.int64]):
    """One episode of the package's MemoryEnv with a view of 3 x 3 cells and the actions left, right, forward.

    Reward 1 - 0.9 t / T next to the matching object, 0 next to the other; both end the episode, as does the limit.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}

    def __init__(
        self,
        size: int = 41,
        observation: str = "symbolic",
        limit: str = "solvable",
        render_mode: str | None = None,
    ) -> None:
        self.task = MinigridTask(size=size, observation=observation, limit=limit)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"minigrid-memory: render_mode must be 'rgb_array' or 'ansi', got {render_mode!r}")
        self.render_mode = render_mode
        self.observation_space, self.action_space = self.task.spaces.observation, self.task.spaces.action
        self.memory = memory_env()(size=size, max_steps=self.task.reward_steps, agent_view_size=VIEW)
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        super().reset(seed=seed)
        self.memory.np_random = self.np_random
        self.memory.reset()
        self._over = False
        return self._observe(), {"object": self.memory.grid.get(1, self.task.size // 2 - 1).type}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gym.error.ResetNeeded("minigrid-memory: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"minigrid-memory: actions are 0 left, 1 right, 2 forward, got {action!r}")
        _, reward, terminated, _, _ = self.memory.step(action)
        truncated = self.memory.step_count >= self.task.max_steps
        self._over = terminated or truncated
        return self._observe(), float(reward), terminated, truncated, {}

    def view(self) -> NDArray[np.uint8]:
        """The cells that the agent sees, (3, 3); the whole of the symbolic observation in short."""
        cells: NDArray[np.uint8] = self.memory.gen_obs()["image"][..., 0]
        return cells

    def _observe(self) -> NDArray[np.uint8]:
        first: NDArray[np.uint8] = observe(self.view()[None], self.task)[0]
        return first

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return self._text() if self.render_mode == "ansi" else self._picture()

    def _corner(self) -> tuple[int, int]:
        """Left column and top row of what is drawn."""
        left = int(self.memory.agent_pos[0]) - RENDER_COLUMNS // 2
        return max(0, min(left, self.task.size - RENDER_COLUMNS)), self.task.size // 2 - RENDER_ROWS // 2

    def _picture(self) -> NDArray[np.uint8]:
        """The map, or the part of it around the agent; what the agent sees is lighter."""
        left, top = self._corner()
        width = min(RENDER_COLUMNS, self.task.size)
        part = self.memory.grid.slice(left, top, width, RENDER_ROWS)
        at = np.array(self.memory.agent_pos) - (left, top)
        lit = np.zeros((width, RENDER_ROWS), np.bool_)
        seen = at + VIEW_OFFSETS[self.memory.agent_dir][self.view() > 0]
        inside = ((seen >= 0) & (seen < lit.shape)).all(1)
        lit[tuple(seen[inside].T)] = True
        picture: NDArray[np.uint8] = part.render(RENDER_TILE, tuple(at), self.memory.agent_dir, lit)
        return picture

    def _text(self) -> str:
        """The same part as text: `#` wall, `K` key, `B` ball, an arrow for the agent."""
        left, top = self._corner()
        rows = []
        for y in range(top, top + RENDER_ROWS):
            cells = (self.memory.grid.get(x, y) for x in range(left, min(left + RENDER_COLUMNS, self.task.size)))
            rows.append([GLYPHS[cell.type] if cell else " " for cell in cells])
        x, y = self.memory.agent_pos
        rows[y - top][x - left] = ARROWS[self.memory.agent_dir]
        return "".join("".join(row) + "\n" for row in rows)


# ---------------------------------------------------------------------------------------------------- registry


def case(size: int = 41, observation: str = "symbolic", limit: str = "solvable") -> EvalCase:
    """Episodes of one size. The target is the mean return of the expert; with the paper's limits, the paper's 0.96."""
    task = MinigridTask(size=size, observation=observation, limit=limit)
    kwargs = asdict(task)
    named = {name: value for name, value in kwargs.items() if name == "size" or value != getattr(MinigridTask, name)}
    solvable = limit == "solvable"
    return EvalCase(
        name=",".join(f"{name}={value}" for name, value in named.items()),
        kwargs=kwargs,
        target_return=round(1 - 0.9 * mean_length(size) / task.reward_steps, 4) if solvable else 0.96,
        max_steps=task.max_steps,
        tags={"size": str(size)},
    )


def success(episode_return: float) -> bool:
    """The agent went to the matching object."""
    return episode_return > 0


ENVS.add(
    "minigrid-memory",
    EnvSpec(
        name="minigrid-memory",
        summary="Minigrid-Memory: find the object, walk down a corridor, go to the same object at its end",
        make=MinigridMemoryEnv,
        make_batch=MinigridMemoryBatch,
        expert=expert,
        expert_defaults=asdict(ExpertOptions()),
        player=player,
        case=case,
        score=Score.success(success),
        axis="size",
        axis_unit="cells",
    ),
)
gym.register(id="rate/MinigridMemory-v0", entry_point="rate.envs.minigrid_memory:MinigridMemoryEnv")
