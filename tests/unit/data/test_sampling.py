"""Which episodes batches are made of: by episode, by step, by return, from several data sets, and moved images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from rate.data.config import DataConfig
from rate.data.mixture import joined, parse_mixture
from rate.data.sampling import best_of, weights_of
from rate.data.store import TrajectoryStore
from rate.data.windows import Windows
from rate.errors import ConfigError, DataError
from rate.types import Spaces

LENGTHS = (2, 3, 40, 5)


@pytest.fixture
def store(write: Any, episode: Any, kinds: Any) -> TrajectoryStore:
    return write([episode(kinds(), length, seed) for seed, length in enumerate(LENGTHS)], kinds())


def drawn(windows: Windows, store: TrajectoryStore, batches: int = 40) -> Any:
    """How often each episode was taken; the first action and reward tell which it was."""
    firsts = {float(one.rewards[0]): index for index, one in enumerate(store)}
    counts = np.zeros(len(store))
    for step in range(batches):
        for reward in windows.batch(step, 50).reward[:, 0].tolist():
            counts[firsts[reward]] += 1
    return counts / counts.sum()


def test_by_step_long_episodes_come_as_often_as_they_are_long(store: TrajectoryStore) -> None:
    ids = np.arange(4)
    by_step = Windows(store, ids, length=4, weights=weights_of(store, ids, "step"))
    np.testing.assert_allclose(drawn(by_step, store), np.array(LENGTHS) / 50, atol=0.03)
    assert weights_of(store, ids, "episode") is None
    np.testing.assert_allclose(drawn(Windows(store, ids, length=4), store), np.full(4, 0.25), atol=1e-9)


def test_weighted_batches_are_pure(store: TrajectoryStore) -> None:
    ids = np.arange(4)
    made = [Windows(store, ids, length=4, start="random", weights=weights_of(store, ids, "step"), seed=3) for _ in "ab"]
    for step in (7, 2, 7):
        one, two = made[0].batch(step, 8), made[1].batch(step, 8)
        assert torch.equal(one.observation, two.observation) and torch.equal(one.timestep, two.timestep)
    assert not torch.equal(made[0].batch(1, 8).action, made[0].batch(2, 8).action)


def test_the_best_share_has_the_highest_returns(store: TrajectoryStore) -> None:
    order = np.argsort(-store.returns)
    assert set(best_of(store, np.arange(4), 0.5)) == set(order[:2])
    assert best_of(store, np.arange(4), 0.01).tolist() == [order[0]]
    assert best_of(store, np.array([3, 1]), 1.0).tolist() == [3, 1]


def test_a_mixture_has_its_shares(store: TrajectoryStore, write: Any, episode: Any, kinds: Any) -> None:
    other = write([episode(kinds(), 6, seed) for seed in range(10, 30)], kinds(), "other")
    both = joined([store, other])
    assert len(both) == 24 and both.card["steps"] == 50 + 120
    assert both.digest not in (store.digest, other.digest)
    np.testing.assert_array_equal(both.returns, np.concatenate([store.returns, other.returns]))
    ids = np.arange(24)
    for by in ("episode", "step"):
        shares = drawn(Windows(both, ids, length=4, weights=weights_of(both, ids, by, [1.0, 3.0])), both)
        assert shares[:4].sum() == pytest.approx(0.25, abs=0.03)
    with pytest.raises(ConfigError, match="data set 1 of the mixture"):
        weights_of(both, np.arange(4), "episode", [1.0, 1.0])


def test_data_of_other_spaces_is_not_mixed(store: TrajectoryStore, write: Any, episode: Any, kinds: Any) -> None:
    other = write([episode(kinds("image"), 3, 0)], kinds("image"), "other")
    with pytest.raises(DataError, match="cannot be mixed"):
        joined([store, other])


def test_mixtures_are_written_as_paths_and_weights() -> None:
    assert parse_mixture(["a/b=0.5", "c", "d=e"]) == [("a/b", 0.5), ("c", 1.0), ("d=e", 1.0)]
    for bad in ("a=0", "a=-1", "a=nan", "=2", "a=inf"):
        with pytest.raises(ConfigError, match="PATH=WEIGHT"):
            DataConfig(mixture=(bad,))


@pytest.mark.parametrize("bad", [{"top": 0.0}, {"top": 1.5}, {"sample": "window"}, {"shift": -1}])
def test_bad_choices(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"data.{next(iter(bad))}"):
        DataConfig(**bad)


def test_shifts_move_all_frames_of_a_row_alike(write: Any, episode: Any) -> None:
    seen = gs.Dict(
        eye=gs.Box(0, 255, (3, 9, 8), np.uint8), last=gs.Box(0, 255, (7, 6, 1), np.uint8), x=gs.Box(0, 1, (2,))
    )
    spaces = Spaces(observation=seen, action=gs.Discrete(2))
    store = write([episode(spaces, 5, seed) for seed in range(6)], spaces)
    plain, moved = (Windows(store, range(6), length=5, shift=shift) for shift in (0, 2))
    before, after, again = plain.batch(1, 6), moved.batch(1, 6), moved.batch(1, 6)
    assert torch.equal(before.observation["x"], after.observation["x"])
    shifts = set()
    for row in range(6):
        by = shift_between(before.observation["eye"][row], after.observation["eye"][row], (2, 3))
        assert by == shift_between(before.observation["last"][row], after.observation["last"][row], (1, 2))
        shifts.add(by)
    assert len(shifts) > 2
    assert torch.equal(after.observation["eye"], again.observation["eye"])
    fixed = next(moved.fixed(6))
    assert torch.equal(fixed.observation["eye"], next(plain.fixed(6)).observation["eye"])


def shift_between(before: torch.Tensor, after: torch.Tensor, sides: tuple[int, int]) -> tuple[int, int]:
    """By how much all frames of one row moved; the border is repeated."""
    for down in range(-2, 3):
        for right in range(-2, 3):
            found = before
            for axis, by in zip(sides, (down, right), strict=True):
                places = (torch.arange(before.shape[axis]) + by).clamp(0, before.shape[axis] - 1)
                found = found.index_select(axis, places)
            if torch.equal(found, after):
                return down, right
    raise AssertionError("not a shift")


def test_there_must_be_an_image_to_move(store: TrajectoryStore) -> None:
    with pytest.raises(ConfigError, match="hold no image"):
        Windows(store, range(4), length=4, shift=1)


def test_rows_of_a_batch_move_as_in_the_whole(write: Any, episode: Any, kinds: Any) -> None:
    store = write([episode(kinds("image"), 5, seed) for seed in range(6)], kinds("image"))
    windows = Windows(store, range(6), length=5, shift=2)
    assert torch.equal(windows.batch(3, 6, slice(2, 5)).observation, windows.batch(3, 6).observation[2:5])
