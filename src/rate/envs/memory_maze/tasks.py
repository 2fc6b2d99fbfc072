"""The four mazes of the package, registered without importing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.demonstrate import demonstrate
from rate.envs.memory_maze.env import SIDE, STEPS, MemoryMazeEnv
from rate.envs.memory_maze.navigator import Navigator
from rate.envs.spec import ENVS, BatchEnv, CollectRequest, EnvSpec, EvalCase, Player
from rate.envs.worker_batch import shared_out
from rate.errors import ConfigError
from rate.registry import check_names
from rate.types import Trajectory

NAMES = tuple(f"memory-maze/{size}x{size}" for size in STEPS)
GRADES: Mapping[str, tuple[float, float]] = {"good": (0.0, 0.0), "noisy": (0.3, 1.6)}
"""Grade to the range from which an episode's share of errors is drawn; what is above 1 is 1."""
TARGETS = {9: 18.0, 11: 25.0, 13: 36.0, 15: 41.0}
"""The return that a policy is asked for: what about the best twentieth of the noisy grade's episodes reaches."""


def options(size: int) -> dict[str, Any]:
    return {"grade": "good", "resolution": SIDE, "max_steps": STEPS[size]}


def player(env: gym.Env[Any, Any], rng: np.random.Generator, grade: str = "good", **others: Any) -> Player:
    """The expert for one episode."""
    check_grade(grade)
    inner = env.unwrapped
    assert isinstance(inner, MemoryMazeEnv)
    return Navigator(inner, rng, min(1.0, rng.uniform(*GRADES[grade])))


def check_grade(grade: Any) -> None:
    """Refuse what is no grade."""
    if grade not in GRADES:
        raise ConfigError(f"memory-maze expert: grade must be one of {', '.join(GRADES)}, got {grade!r}")


def expert(size: int, request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of the expert. Options: `grade`, and those of the environment."""
    chosen = {**options(size), **request.kwargs}
    check_names(chosen, options(size), f"option of the expert of memory-maze/{size}x{size}:")
    grade = chosen.pop("grade")
    check_grade(grade)
    return demonstrate(MemoryMazeEnv(size, **chosen), partial(player, grade=grade), request.seeds.tolist())


def case(size: int, resolution: int = SIDE, max_steps: int | None = None) -> EvalCase:
    """The whole episode."""
    max_steps = STEPS[size] if max_steps is None else max_steps
    kwargs = {"resolution": resolution, "max_steps": max_steps}
    changed = [f"{key}={value}" for key, value in kwargs.items() if value != options(size)[key]]
    return EvalCase(
        name=",".join(changed) or "default",
        kwargs=kwargs,
        target_return=TARGETS[size],
        max_steps=max_steps,
        tags={"size": str(size)},
    )


def make_batch(size: int, **kwargs: Any) -> BatchEnv:
    """Many episodes, one maze for each, in worker processes."""
    return shared_out(partial(MemoryMazeEnv, size, **kwargs))


def register(size: int) -> None:
    """Add one maze to the environments of the library."""
    spec = EnvSpec(
        name=f"memory-maze/{size}x{size}",
        summary=f"Memory Maze {size}x{size}: find the objects of the colours that are asked for, from pixels",
        make=partial(MemoryMazeEnv, size),
        make_batch=partial(make_batch, size),
        expert=partial(expert, size),
        expert_defaults=options(size),
        player=player,
        case=partial(case, size),
    )
    ENVS.add(spec.name, spec)


for _size in STEPS:
    register(_size)
