"""The public data of Memory Maze: files of its layout give the episodes that they hold, bad ones a line each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.data.importers import import_data
from rate.errors import DataError
from rate.types import Array, Spaces

STEPS = 12


def columns(seed: int = 0) -> dict[str, Array]:
    """An episode as the package's authors store it: action and reward are those before the image."""
    rng = np.random.default_rng(seed)
    actions = np.eye(6, dtype=np.float32)[rng.integers(6, size=STEPS + 1)]
    actions[0] = 0
    return {
        "image": rng.integers(0, 256, (STEPS + 1, 64, 64, 3)).astype(np.uint8),
        "action": actions,
        "reward": np.concatenate([[0.0], rng.integers(2, size=STEPS)]).astype(np.float16),
        "terminal": np.zeros(STEPS + 1, np.bool_),
        "reset": np.arange(STEPS + 1) == 0,
        "maze_layout": np.ones((STEPS + 1, 9, 9), np.uint8),
    }


def directory(root: Path, *episodes: dict[str, Array]) -> Path:
    source = root / "memory_maze_9x9"
    source.mkdir()
    for at, episode in enumerate(episodes):
        np.savez_compressed(source / f"{at}.npz", **episode)
    return source


def test_actions_and_rewards_are_moved_to_the_image_before(tmp_path: Path) -> None:
    notes: list[str] = []
    store = import_data(directory(tmp_path, columns(0), columns(1)), tmp_path / "data", on_note=notes.append)
    assert store.lengths.tolist() == [STEPS, STEPS]
    assert store.spaces.action == gym.spaces.Discrete(6)
    for seed, item in enumerate(store):
        stored = columns(seed)
        np.testing.assert_array_equal(item.observations, stored["image"])
        for t in range(STEPS):
            assert stored["action"][t + 1, item.actions[t]] == 1
        np.testing.assert_array_equal(item.rewards, stored["reward"][1:])
        assert item.truncations[-1] and not item.terminations.any()
    assert notes == ["left out, since there is no place for it: maze_layout"]


def changed(**others: Any) -> dict[str, Array]:
    return {name: values for name, values in {**columns(), **others}.items() if values is not None}


BAD = {
    "has no action": changed(action=None),
    "image is float64": changed(image=np.zeros((STEPS + 1, 64, 64, 3))),
    "reward has the shape": changed(reward=np.zeros(STEPS)),
    "the first action is not all zeros": changed(action=np.eye(6)[np.zeros(STEPS + 1, int)]),
    "actions are not one-hot": changed(action=np.zeros((STEPS + 1, 6))),
    "rewards are not finite": changed(reward=np.full(STEPS + 1, np.nan)),
    "a second episode begins": changed(reset=np.arange(STEPS + 1) % 5 == 0),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files_are_one_line(message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        import_data(directory(tmp_path, BAD[message]), tmp_path / "data")
    assert "\n" not in str(caught.value) and not (tmp_path / "data").exists()


def test_what_cannot_be_read_or_is_of_another_maze_is_one_line(tmp_path: Path) -> None:
    source = directory(tmp_path, columns())
    others = Spaces(observation=gym.spaces.Box(0, 255, (32, 32, 3), np.uint8), action=gym.spaces.Discrete(6))
    with pytest.raises(DataError, match=r"the environment has Box\(0, 255, \(32, 32, 3\)"):
        import_data(source, tmp_path / "data", spaces=others)
    (source / "1.npz").write_bytes((source / "0.npz").read_bytes()[:200])
    with pytest.raises(DataError, match=r"1\.npz is not a readable \.npz file"):
        import_data(source, tmp_path / "data")
    np.savez(source / "1.npz", **changed(image=np.zeros((STEPS + 1, 32, 32, 3), np.uint8)))
    with pytest.raises(DataError, match="differ in the shape"):
        import_data(source, tmp_path / "data")
    np.savez(source / "1.npz", **changed(reward=np.array([None] * (STEPS + 1), object)))
    with pytest.raises(DataError, match=r"1\.npz"):
        import_data(source, tmp_path / "data")
    assert not (tmp_path / "data").exists()
