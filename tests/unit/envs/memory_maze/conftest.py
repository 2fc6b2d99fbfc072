"""The tests that draw are skipped, with the reason, where the extra or OpenGL is not there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rate.envs.memory_maze.env import MemoryMazeEnv
from rate.errors import MissingExtraError, MissingLibraryError


@pytest.fixture
def maze() -> Iterator[MemoryMazeEnv]:
    """The smallest maze."""
    try:
        env = MemoryMazeEnv(9, render_mode="rgb_array")
        env.reset(seed=0)
    except (MissingExtraError, MissingLibraryError) as error:
        pytest.skip(str(error))
    yield env
    env.close()
