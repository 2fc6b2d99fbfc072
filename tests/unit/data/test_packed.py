"""Columns of images: what is compressed, stacks of frames that are stored once, and files that lie."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces as gs

from rate.data.column_statistics import moments
from rate.data.packed import ENDS, SUFFIX, PackedColumn, is_worth_packing
from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import Windows
from rate.errors import DataError
from rate.types import Array, Spaces, Trajectory

SHAPE, DEPTH = (36, 40, 3), 4
LENGTHS = (5, 2, 9)
HEAD: dict[str, Any] = {"environment": "toy", "options": {}, "generator": "test", "sync": False}


def frames_of(length: int, seed: int, noise: bool = False) -> Array:
    """A square that moves over black, or noise, which nothing compresses."""
    rng = np.random.default_rng(seed)
    if noise:
        return rng.integers(0, 256, (length, *SHAPE)).astype(np.uint8)
    frames = np.zeros((length, *SHAPE), np.uint8)
    for step in range(length):
        frames[step, step : step + 6, seed % 20 : seed % 20 + 6] = 10 * step + seed + 1
    return frames


def trajectory(observations: Array, seed: int) -> Trajectory:
    length = len(observations) - 1
    return Trajectory(
        observations=observations,
        actions=np.arange(length) % 2,
        rewards=np.ones(length, np.float32),
        terminations=np.arange(length) == length - 1,
        truncations=np.zeros(length, bool),
        seed=seed,
    )


def stacks_of(frames: Array) -> Array:
    """As a frame-stacking wrapper gives them: the first frame stands for those before it."""
    padded = np.concatenate([frames[:1]] * (DEPTH - 1) + [frames])
    return np.stack([padded[step : step + DEPTH] for step in range(len(frames))])


def written(path: Path, noise: bool = False, stack: bool = False, **more: Any) -> TrajectoryStore:
    seen = gs.Box(0, 255, (DEPTH, *SHAPE) if stack else SHAPE, np.uint8)
    extra = {"frame_stack": {"observations": DEPTH}} if stack else {}
    spaces = Spaces(observation=seen, action=gs.Discrete(2))
    with StoreWriter(path, spaces=spaces, shard_steps=6, **HEAD, **extra, **more) as writer:
        for seed, length in enumerate(LENGTHS):
            frames = frames_of(length + 1, seed, noise)
            writer.add(trajectory(stacks_of(frames) if stack else frames, seed))
    return TrajectoryStore.open(path)


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("observations*"))


def test_images_that_become_smaller_are_packed(tmp_path: Path) -> None:
    packed, plain = written(tmp_path / "packed"), written(tmp_path / "plain", pack=False)
    assert 20 * size_of(tmp_path / "packed") < size_of(tmp_path / "plain")
    for index in range(len(LENGTHS)):
        np.testing.assert_array_equal(packed[index].observations, plain[index].observations)
    written(tmp_path / "noise", noise=True)
    assert list((tmp_path / "noise").rglob("*.npy")) and not list((tmp_path / "noise").rglob(f"*{SUFFIX}"))
    assert not is_worth_packing(np.zeros((9, 5, 5), np.uint8)) and not is_worth_packing(np.zeros((9, 99, 99)))


@pytest.mark.parametrize("stack", [False, True])
def test_windows_of_packed_columns_are_those_of_plain_ones(tmp_path: Path, stack: bool) -> None:
    made = [written(tmp_path / str(pack), stack=stack, pack=pack) for pack in (True, False)]
    one, two = (Windows(store, range(3), length=6, start="random", seed=1) for store in made)
    for step in range(4):
        left, right = one.batch(step, 7).observation, two.batch(step, 7).observation
        np.testing.assert_array_equal(left, right)
    left, right = (moments(store, np.arange(3), "observations") for store in made)
    np.testing.assert_array_equal(left.mean, right.mean)


def test_frames_are_stored_once_and_stacked_on_reading(tmp_path: Path) -> None:
    store = written(tmp_path / "set", stack=True, pack=False)
    frames = sum(length + 1 for length in LENGTHS)
    assert size_of(tmp_path / "set") < 1.1 * frames * np.prod(SHAPE)
    assert store.spaces.observation.shape == (DEPTH, *SHAPE)
    for seed, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(store[seed].observations, stacks_of(frames_of(length + 1, seed)))
    window = next(Windows(store, range(3), length=9).fixed(3))
    for row, length in enumerate(LENGTHS):
        expected = stacks_of(frames_of(length + 1, row))
        np.testing.assert_array_equal(window.observation[row, :length], expected[:length])
        np.testing.assert_array_equal(window.observation[row, length:], expected[[length] * (9 - length)])


def test_what_is_no_stack_is_refused(tmp_path: Path) -> None:
    spaces = Spaces(observation=gs.Box(0, 255, (DEPTH, *SHAPE), np.uint8), action=gs.Discrete(2))
    given = {"spaces": spaces, **HEAD}
    wrong = stacks_of(frames_of(4, 0))[:, ::-1]
    with (
        pytest.raises(DataError, match="not the last 4 frames"),
        StoreWriter(tmp_path / "set", **given, frame_stack={"observations": DEPTH}) as writer,
    ):
        writer.add(trajectory(wrong, 0))
    for bad in ({"observations": 3}, {"elsewhere": 4}):
        with pytest.raises(DataError, match="frame_stack"):
            StoreWriter(tmp_path / "set", **given, frame_stack=bad)


@pytest.mark.parametrize("depth", [3, 10**12, -1, "4", 4.0, None])
def test_a_card_that_lies_about_stacks(tmp_path: Path, depth: Any) -> None:
    written(tmp_path / "set", stack=True)
    card = json.loads((tmp_path / "set/card.json").read_text())
    (tmp_path / "set/card.json").write_text(json.dumps({**card, "frame_stack": {"observations": depth}}))
    with pytest.raises(DataError, match="stacks of"):
        TrajectoryStore.open(tmp_path / "set")


@pytest.mark.parametrize(
    ("piece", "ends", "reason"),
    [
        (zlib.compress(bytes(10**6)), None, "another size"),  # would unpack to more than a row
        (zlib.compress(bytes(3)), None, "another size"),
        (b"not zlib", None, "cannot be unpacked"),
        (b"abc", [2], "do not agree"),
        (b"abc", [-1], "do not agree"),
    ],
)
def test_pieces_that_lie(piece: bytes, ends: Any, reason: str) -> None:
    stored, where = np.frombuffer(piece, np.uint8), np.array(ends or [len(piece)], np.int64)
    with pytest.raises(DataError, match=reason):
        PackedColumn(stored, where, np.dtype(np.uint8), SHAPE)[0]


def test_damage_is_found_when_the_data_is_opened(tmp_path: Path) -> None:
    written(tmp_path / "set")
    for name in (f"observations{SUFFIX}", f"observations{ENDS}"):
        path = tmp_path / "set/shard-00000" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(DataError, match="checksum"):
            TrajectoryStore.open(tmp_path / "set")
        path.unlink()
        with pytest.raises(DataError, match="missing"):
            TrajectoryStore.open(tmp_path / "set")
        path.write_bytes(whole)
