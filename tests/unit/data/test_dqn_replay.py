"""DQN-replay: files of its layout give the episodes that they hold, and bad ones a line that names them."""

from __future__ import annotations

import gzip
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from rate.data.dqn_replay import file_of, import_dqn_replay
from rate.data.importers import import_data
from rate.errors import DataError
from rate.types import Array, Spaces

LENGTHS = (7, 12, 5)


def save(path: Path, values: Array) -> None:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        np.save(stream, values)


def replay_logs(root: Path, numbers: tuple[int, ...] = (0, 1, 2)) -> Path:
    """Buffers of three episodes, and a fourth that the end of the buffer cuts; the pixels tell buffer and step."""
    source = root / "Pong" / "1" / "replay_logs"
    source.mkdir(parents=True)
    steps = sum(LENGTHS) + 4
    for number in numbers:
        terminal = np.zeros(steps, np.uint8)
        terminal[np.cumsum(LENGTHS) - 1] = 1
        frames = np.broadcast_to((40 * number + np.arange(steps, dtype=np.uint8))[:, None, None], (steps, 84, 84))
        save(file_of(source, "observation", number), np.ascontiguousarray(frames))
        save(file_of(source, "action", number), (np.arange(steps) % 6).astype(np.int32))
        save(file_of(source, "reward", number), (np.arange(steps) % 3 - 1).astype(np.float32))
        save(file_of(source, "terminal", number), terminal)
        save(source / f"add_count_ckpt.{number}.gz", np.array(steps))
    return source


def test_every_whole_episode_is_read_once_with_its_frames_stacked(tmp_path: Path) -> None:
    store = import_dqn_replay(replay_logs(tmp_path), tmp_path / "data")
    assert sorted(store.lengths.tolist()) == sorted(LENGTHS * 3)
    firsts = set()
    for item in store:
        seen = item.observations[:, :, 0, 0].astype(int)
        first, steps = seen[0, 0], np.arange(len(item))
        firsts.add(int(first))
        assert item.observations.shape == (len(item) + 1, 4, 84, 84)
        assert (seen[0] == first).all()  # the first frame stands for those before it
        np.testing.assert_array_equal(seen[:-1, -1], first + steps)
        if len(item) > 4:
            np.testing.assert_array_equal(seen[4], first + np.arange(1, 5))
        np.testing.assert_array_equal(item.actions, (first % 40 + steps) % 6)
        np.testing.assert_array_equal(item.rewards, (first % 40 + steps) % 3 - 1)
        assert item.terminations[-1] and item.terminations.sum() == 1
    assert firsts == {40 * number + start for number in range(3) for start in (0, 7, 19)}


def test_no_more_is_drawn_than_asked_for_and_the_seed_decides_which(tmp_path: Path) -> None:
    source = replay_logs(tmp_path, tuple(range(6)))
    sets = [
        import_dqn_replay(source, tmp_path / f"data{at}", steps=20, seed=seed) for at, seed in enumerate((0, 0, 1, 2))
    ]
    assert all(20 <= store.lengths.sum() < 20 + max(LENGTHS) for store in sets)
    drawn = [[int(item.observations[0, 0, 0, 0]) for item in store] for store in sets]
    assert drawn[0] == drawn[1] and len({tuple(one) for one in drawn}) > 1


def test_a_directory_is_imported_like_a_file(tmp_path: Path) -> None:
    spaces = Spaces(observation=gym.spaces.Box(0, 255, (4, 84, 84), np.uint8), action=gym.spaces.Discrete(6))
    store = import_data(replay_logs(tmp_path), tmp_path / "data", spaces=spaces, environment="atari/pong")
    assert len(store) == 9 and store.card["environment"] == "atari/pong"


def test_data_of_another_game_is_refused(tmp_path: Path) -> None:
    spaces = Spaces(observation=gym.spaces.Box(0, 255, (4, 84, 84), np.uint8), action=gym.spaces.Discrete(4))
    with pytest.raises(DataError, match="the data has the action 5; the environment has 4"):
        import_dqn_replay(replay_logs(tmp_path), tmp_path / "data", spaces=spaces)
    assert not (tmp_path / "data").exists()


def test_damaged_directories_are_one_line(tmp_path: Path) -> None:
    source, out = replay_logs(tmp_path), tmp_path / "data"
    frames = file_of(source, "observation", 1)
    whole = frames.read_bytes()
    frames.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"observation_ckpt\.1\.gz cannot be read"):
        import_dqn_replay(source, out)
    save(frames, np.zeros((28, 80, 80), np.uint8))
    with pytest.raises(DataError, match=r"observation_ckpt\.1\.gz cannot be read: it holds uint8 \(28, 80, 80\)"):
        import_dqn_replay(source, out)
    frames.unlink()
    with pytest.raises(DataError, match=r"observation_ckpt\.1\.gz is missing"):
        import_dqn_replay(source, out)
    with pytest.raises(DataError, match=r"holds no .*give the directory replay_logs of one run"):
        import_dqn_replay(source.parent, out)
    with pytest.raises(DataError, match="no directory"):
        import_dqn_replay(tmp_path / "nowhere", out)
    assert not out.exists()
