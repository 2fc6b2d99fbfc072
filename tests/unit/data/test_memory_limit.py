"""A data set several times larger than a limit is checked and trained on within that limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces as gym_spaces

from rate.data import store as store_module
from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import Windows
from rate.types import Spaces, Trajectory

LIMIT = 150 << 20
SHAPE = (128, 128, 3)
STEPS = 200
EPISODES = 64

READER = """
import sys
import numpy as np
import torch  # else the first batch would import it, and its memory would count
from rate.data.store import TrajectoryStore
from rate.data.windows import Windows

def peak():  # getrusage would count the memory of the process that started this one
    status = open("/proc/self/status").read()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])

before = peak()
store = TrajectoryStore.open(sys.argv[1])
windows = Windows(store, np.arange(len(store)), length=20, start="random")
seen = set()
for step in range(80):
    seen |= set(windows.batch(step, 8).observation[:, 0, 0, 0, 0].tolist())
print(peak() - before, len(seen))
"""


def image_episode(seed: int, dtype: type[np.generic]) -> Trajectory:
    """Its pictures are all of one colour, which is fast to make."""
    ended = np.arange(STEPS) == STEPS - 1
    return Trajectory(
        observations=np.full((STEPS + 1, *SHAPE), seed, dtype=dtype),
        actions=np.zeros(STEPS, np.int64),
        rewards=ended.astype(np.float32),
        terminations=ended,
        truncations=np.zeros(STEPS, bool),
        seed=seed,
    )


def write_images(path: Path, episodes: int, dtype: Any) -> None:
    space = Spaces(observation=gym_spaces.Box(0, 255, SHAPE, dtype), action=gym_spaces.Discrete(2))
    head: dict[str, Any] = {"environment": "images", "options": {}, "generator": "one colour each"}
    with StoreWriter(path, spaces=space, **head, sync=False, pack=False) as writer:
        for seed in range(episodes):
            writer.add(image_episode(seed, dtype))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak in /proc")
@pytest.mark.parametrize(("dtype", "episodes"), [(np.uint8, EPISODES), (np.float32, EPISODES // 4)])
def test_data_larger_than_a_limit_stays_within_it(dtype: Any, episodes: int, tmp_path: Path) -> None:
    """Numbers are also read by the check of their values, bytes by the training alone."""
    write_images(tmp_path / "set", episodes, dtype)
    assert sum(file.stat().st_size for file in (tmp_path / "set").rglob("*.npy")) > 4 * LIMIT
    done = subprocess.run([sys.executable, "-c", READER, str(tmp_path / "set")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    used, episodes_seen = map(int, done.stdout.split())
    assert episodes_seen == episodes  # all of the data was read
    assert used < LIMIT, f"{used >> 20} MiB"


def test_windows_are_the_same_after_pages_were_given_back(
    tmp_path: Path, write: Any, episode: Any, kinds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every read gives all pages back here."""
    store: TrajectoryStore = write([episode(kinds(), 5 + i, i) for i in range(6)], kinds(), shard_steps=10)
    before = [Windows(store, range(6), length=4, start="random").batch(step, 5) for step in range(4)]
    given_back: list[int] = []
    genuine = store_module.release
    monkeypatch.setattr(store_module, "RESIDENT_BYTES", 0)
    monkeypatch.setattr(store_module, "release", lambda maps: (given_back.append(len(maps)), genuine(maps)))
    windows = Windows(store, range(6), length=4, start="random")
    for step, batch in enumerate(before):
        again = windows.batch(step, 5)
        assert (again.observation == batch.observation).all() and (again.return_to_go == batch.return_to_go).all()
    columns = sum(len(shard.columns) for shard in store.shards)
    assert given_back and set(given_back) == {columns} and None not in store._maps


def test_small_data_is_never_given_back(vector_store: TrajectoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "release", lambda maps: pytest.fail("pages are given back"))
    windows = Windows(vector_store, range(5), length=3)
    for _ in range(3000):
        vector_store.count_read(1 << 20)
    assert windows.batch(0, 5).mask.shape == (5, 3)
