"""The mazes are the package's, to the last pixel and reward, and are drawn by what is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rate.envs.memory_maze import graphics
from rate.envs.memory_maze.env import MemoryMazeEnv
from rate.envs.memory_maze.navigator import Navigator
from rate.errors import ConfigError, MissingExtraError, MissingLibraryError

SEED, STEPS = 3, 160
# In a process of its own: its drawing and ours do not go together in one under EGL.
STOCK = """
import sys
import numpy as np
from rate.envs.memory_maze.graphics import package

env = package().memory_maze_9x9(seed=int(sys.argv[2]), image_only_obs=True)
actions = np.load(sys.argv[1])
steps = [env.reset(), *(env.step(int(action)) for action in actions)]
np.savez(sys.argv[3], images=[step.observation for step in steps], rewards=[step.reward for step in steps[1:]])
"""


def test_images_and_rewards_are_the_packages(maze: MemoryMazeEnv, tmp_path: Path) -> None:
    image, _ = maze.reset(seed=SEED)
    images, rewards, actions, player = [image], [], list[int](), Navigator(maze, np.random.default_rng(0))
    for _ in range(STEPS):
        actions.append(player(images[-1], actions[-1] if actions else None))
        image, reward, *_ = maze.step(np.int64(actions[-1]))
        images.append(image)
        rewards.append(reward)
    assert sum(rewards) >= 3
    np.save(tmp_path / "actions.npy", actions)
    words = [str(tmp_path / "actions.npy"), str(SEED), str(tmp_path / "stock.npz")]
    subprocess.run([sys.executable, "-c", STOCK, *words], check=True, capture_output=True)
    with np.load(tmp_path / "stock.npz") as stock:
        np.testing.assert_array_equal(rewards, stock["rewards"])
        np.testing.assert_array_equal(images, stock["images"])


def test_the_border_and_the_info_tell_the_target(maze: MemoryMazeEnv) -> None:
    image, info = maze.reset(seed=1)
    colour = (maze.maze.colour(info["target"]) * 255 * 0.7).astype(np.uint8)
    for side in (image[:2], image[-2:], image[:, :2], image[:, -2:]):
        assert (side == colour).all()
    assert info["target"] == maze.maze.target
    small = MemoryMazeEnv(9, resolution=32)
    shown, same = small.reset(seed=1)
    assert shown.shape == (32, 32, 3) and same == info and (shown[0] == colour).all()
    small.close()


def test_a_film_shows_the_picture_and_a_map(maze: MemoryMazeEnv) -> None:
    image, _ = maze.reset(seed=1)
    film = maze.render()
    assert film.shape == (256, 512, 3)
    np.testing.assert_array_equal(film[2::4, 2:256:4], image)
    before = film[:, 256:]
    for _ in range(8):
        maze.step(np.int64(1))
    assert (maze.render()[:, 256:] != before).any()


def test_episodes_end_at_their_limit(maze: MemoryMazeEnv) -> None:
    env = MemoryMazeEnv(9, max_steps=3)
    env.reset(seed=0)
    assert [env.step(np.int64(0))[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    env.close()


@pytest.mark.parametrize("wrong", [{"resolution": 8}, {"max_steps": 0}, {"max_steps": 2.5}, {"render_mode": "human"}])
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=f"memory-maze: {next(iter(wrong))} must be"):
        MemoryMazeEnv(9, **wrong)  # type: ignore[arg-type]


def test_the_way_to_draw_is_the_users_else_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    assert graphics.backend() == "osmesa"
    monkeypatch.delenv("MUJOCO_GL")
    for there, chosen in (({"libEGL.so.1", "libOSMesa.so.8"}, "egl"), ({"libOSMesa.so.8"}, "osmesa")):
        monkeypatch.setattr(graphics, "_is_there", there.__contains__)
        assert graphics.backend() == chosen
    monkeypatch.setattr(graphics, "_is_there", lambda file: False)
    with pytest.raises(MissingLibraryError, match=r"no OpenGL .* apt-get install libosmesa6"):
        graphics.backend()


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setitem(sys.modules, "memory_maze", None)
    monkeypatch.delitem(sys.modules, "memory_maze.tasks", raising=False)
    with pytest.raises(MissingExtraError, match=r"rate-rl\[memory-maze\]"):
        graphics.package.__wrapped__()


def test_a_library_that_cannot_draw_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    with pytest.raises(MissingLibraryError, match=r"MUJOCO_GL=nothing cannot draw here .* apt-get install"):
        graphics._context.__wrapped__(0, 0)
