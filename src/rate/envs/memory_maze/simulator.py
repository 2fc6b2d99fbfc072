"""The maze of the package, made anew for a seed, and stepped without the parts of dm_control that nobody asks for.

Images and rewards are the package's, bit for bit: `tests/unit/envs/test_memory_maze.py` compares them step by step.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.memory_maze.graphics import drawing_context, package
from rate.envs.memory_maze.view import View

MAZE_FIELDS = (
    *("height", "width", "max_rooms", "room_min_size", "room_max_size"),
    *("max_variations", "spawns_per_room", "objects_per_room"),
)


class Simulator:
    """One maze with a ball in it."""

    def __init__(self, task: str, side: int) -> None:
        package()  # says what is missing, if anything is
        drawing_context()
        import mujoco

        self._step1, self._step2, self._side = mujoco.mj_step1, mujoco.mj_step2, side
        made = _made(task)
        self.action_set = [np.asarray(action) for action in made.action_set]
        self._inner = made.env
        while not isinstance(self._inner, _lean()):
            self._inner = self._inner.env
        self.task = self._inner.task
        self._view: View | None = None

    def reset(self, seed: int) -> None:
        """The first episode of the package's environment that is made with this seed."""
        self.close()
        inner, arena = self._inner, self.task._maze_arena
        inner.random_state.seed(seed)
        old, made = arena.maze, inner.random_state.randint(2147483648)
        fields = {name: getattr(old, name) for name in MAZE_FIELDS}
        arena._maze = type(old)(**fields, simplify=True, random_seed=made)
        for target in self.task._targets:
            target._activated = False  # one that the ball touched when it was placed would not be asked for first
        inner.reset()
        physics = inner.physics
        self._model, self._data = physics.model.ptr, physics.data.ptr
        self._substeps = self.task.physics_steps_per_control_step
        self._find_things(physics)
        self._view = View(self._model, self._data, self._side)

    def _find_things(self, physics: Any) -> None:
        targets = [physics.bind(target.geom).element_id for target in self.task._targets]
        self._owner = np.full(self._model.ngeom, -1)
        self._owner[targets] = np.arange(len(targets))
        self._head = physics.bind(self.task._walker.root_body).element_id
        layer = np.array(self.task._maze_arena.maze.entity_layer)[::-1]
        self.free: NDArray[np.bool_] = np.isin(layer, [" ", "P", "G"])
        self._scale, self._middle = self.task._maze_arena.xy_scale, (np.array(layer.shape[::-1]) - 1) / 2
        self.targets = np.stack([self._cells(self._data.geom_xpos[geom]) for geom in targets])

    def step(self, action: int) -> float:
        """A quarter of a second: what a target was touched by is looked up for all contacts at once."""
        model, data, owner = self._model, self._data, self._owner
        step1, step2 = self._step1, self._step2
        data.ctrl[:] = self.action_set[action]
        for _ in range(self._substeps):
            step2(model, data)
            step1(model, data)
            if data.ncon:
                touched = owner[data.contact.geom].max(1)
                for index in touched[touched >= 0]:
                    self.task._targets[index]._activated = True
        self.task.after_step(self._inner.physics, self._inner.random_state)
        return float(self.task.get_reward(self._inner.physics))

    @property
    def target(self) -> int:
        """The colour that is asked for."""
        return int(self.task._current_target_ix)

    def colour(self, index: int) -> NDArray[np.float64]:
        """From 0 to 1, brighter than on the border."""
        return np.asarray(self.task._target_colors[index])

    @property
    def place(self) -> NDArray[np.float64]:
        """Where the ball is, in cells: column and row from the lower left, outer walls counted."""
        return self._cells(self._data.xpos[self._head])

    @property
    def heading(self) -> NDArray[np.float64]:
        """The direction in which it rolls forward."""
        return np.array(self._data.xmat[self._head].reshape(3, 3)[:2, 1])

    def _cells(self, position: Any) -> NDArray[np.float64]:
        cells: NDArray[np.float64] = np.asarray(position)[:2] / self._scale + self._middle
        return cells

    def picture(self) -> NDArray[np.uint8]:
        """What is seen, with the colour that is asked for as its border."""
        assert self._view is not None
        image, colour = self._view.draw(), self.colour(self.target) * 255 * 0.7
        border = max(1, int(2 * np.sqrt(self._side // 64)))
        for part in (image[:, :border], image[:, -border:], image[:border], image[-border:]):
            part[:] = colour
        return image

    def close(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None


def _made(task: str) -> Any:
    """The package's environment around a simulation that compiles only what is used."""
    tasks = package()
    before, tasks.composer = tasks.composer, SimpleNamespace(Environment=_lean())  # type: ignore[attr-defined]
    try:
        # The seed is given anew by every reset.
        return getattr(tasks, task)(seed=1, image_only_obs=True)
    finally:
        tasks.composer = before  # type: ignore[attr-defined]


def _lean() -> Any:
    from rate.envs.memory_maze.lean import LeanEnvironment

    return LeanEnvironment
