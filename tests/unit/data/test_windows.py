"""Windows are the episodes, padded with their last step; a batch depends on the seed and the step alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from rate.data.columns import pack, space_form
from rate.data.config import DataConfig
from rate.data.store import TrajectoryStore
from rate.data.windows import Windows, returns_to_go, split_episodes
from rate.errors import ConfigError, DataError
from rate.options import parse_options
from rate.types import Segment, tree_leaves

pytestmark = pytest.mark.usefixtures("no_fsync")
LENGTHS = [3, 9, 1, 6, 5, 12, 4]


@pytest.fixture(params=[10_000, 10], ids=["one shard", "several shards"])
def store(request: Any, write: Callable[..., TrajectoryStore], episode: Any, kinds: Any) -> TrajectoryStore:
    return write([episode(kinds(), n, i) for i, n in enumerate(LENGTHS)], kinds(), shard_steps=request.param)


def same_segment(one: Segment, other: Segment) -> bool:
    pairs = zip(tree_leaves(one), tree_leaves(other), strict=True)
    return all(torch.equal(left, right) for left, right in pairs)


def find(store: TrajectoryStore, segment: Segment, row: int) -> tuple[int, int]:
    """(episode, start) of a window, by its observations; checks that every value is the episode's."""
    real = int(segment.mask[row].sum())
    assert segment.mask[row, :real].all() and real > 0
    for index, item in enumerate(store):
        for start in range(len(item) - real + 1):
            part = slice(start, start + real)
            if np.array_equal(item.observations[part], segment.observation[row, :real]):
                np.testing.assert_array_equal(segment.action[row, :real], item.actions[part])
                np.testing.assert_array_equal(segment.return_to_go[row, :real], returns_to_go(item.rewards)[part])
                return index, start
    raise AssertionError("no such window")


def test_returns_to_go() -> None:
    rewards = np.array([1.0, 0.5, -2.0, 4.0], np.float32)
    found = returns_to_go(rewards)
    assert found.dtype == np.float32 and found.tolist() == [3.5, 2.5, 2.0, 4.0]
    np.testing.assert_array_equal(found[:-1] - found[1:], rewards[:-1])


def test_returns_to_go_add_up_in_double_precision() -> None:
    assert returns_to_go(np.full(1_000_000, 0.1, np.float32))[0] == np.float32(np.float64(np.float32(0.1)) * 1_000_000)


def test_first_windows_are_the_episodes(store: TrajectoryStore) -> None:
    windows = Windows(store, range(len(LENGTHS)), length=6)
    segment = next(windows.fixed(100))
    assert [find(store, segment, row) for row in range(len(LENGTHS))] == [(index, 0) for index in range(len(LENGTHS))]
    assert segment.mask.sum(1).tolist() == [min(n, 6) for n in LENGTHS]
    np.testing.assert_array_equal(segment.return_to_go[:, 0], store.returns.astype(np.float32))


def test_padding_repeats_the_last_step_and_types_are_fixed(store: TrajectoryStore) -> None:
    segment = Windows(store, [2, 0], length=6).batch(0, 4)
    assert segment.observation.shape == (4, 6, 4) and segment.observation.dtype == torch.float32
    assert segment.action.shape == (4, 6) and segment.action.dtype == torch.int64
    assert segment.return_to_go.dtype == torch.float32 and segment.mask.dtype == torch.bool
    assert segment.mask.any(1).all() and not segment.return_to_go[~segment.mask].any()
    for row, real in enumerate(segment.mask.sum(1).tolist()):
        episode, _ = find(store, segment, row)
        assert (segment.action[row, real:] == segment.action[row, real - 1]).all()
        assert (segment.observation[row, real:].numpy() == store[episode].observations[-1]).all()
        assert not segment.reward[row, real:].any() and (segment.timestep[row] == torch.arange(6)).all()


def test_middle_windows_know_the_full_episode(store: TrajectoryStore) -> None:
    windows = Windows(store, [5], length=4, start="random", seed=3)
    found = {find(store, windows.batch(step, 1), 0) for step in range(60)}
    assert found == {(5, start) for start in range(9)}


def test_thinned_windows_are_the_first_step_and_others_in_order(store: TrajectoryStore) -> None:
    windows = Windows(store, [5], length=12, seed=3)
    segments = [windows.batch(step, 2, length=4, thinned=True) for step in range(40)]
    drawn = set()
    for row, segment in ((row, segment) for segment in segments for row in range(2)):
        steps = segment.timestep[row].numpy()
        assert steps[0] == 0 and (np.diff(steps) > 0).all() and segment.mask[row].all()
        np.testing.assert_array_equal(segment.observation[row].numpy(), store[5].observations[steps])
        np.testing.assert_array_equal(segment.action[row].numpy(), store[5].actions[steps])
        np.testing.assert_allclose(segment.return_to_go[row], store[5].rewards[::-1].cumsum()[::-1][steps], rtol=1e-6)
        drawn |= set(steps.tolist())
    assert drawn == set(range(12))
    assert same_segment(windows.batch(7, 2, length=4, thinned=True), segments[7])
    whole = windows.batch(7, 2, thinned=True)
    assert same_segment(whole, windows.batch(7, 2))


def test_thinned_windows_of_short_episodes_keep_all_steps_and_begin_anywhere(store: TrajectoryStore) -> None:
    short = Windows(store, [0], length=6).batch(0, 5, length=4, thinned=True)
    assert short.timestep[:, :3].tolist() == [[0, 1, 2]] * 5 and short.mask.tolist() == [[True] * 3 + [False]] * 5
    begun = Windows(store, [5], length=6, start="random")
    first = {int(begun.batch(step, 1, length=2, thinned=True).timestep[0, 0]) for step in range(60)}
    assert first == set(range(7))


def test_fixed_tiles_long_episodes_when_starts_are_random(store: TrajectoryStore) -> None:
    windows = Windows(store, range(len(LENGTHS)), length=4, start="random")
    segments = list(windows.fixed(3))
    assert sum(int(segment.mask.sum()) for segment in segments) == sum(LENGTHS)
    assert [segment.mask.shape[0] for segment in segments[:-1]] == [3] * (len(segments) - 1)
    found = [find(store, segment, row) for segment in segments for row in range(segment.mask.shape[0])]
    # One-step episodes and tails are short: compare those windows that are long enough to be unique.
    assert (5, 0) in found and (5, 4) in found and (5, 8) in found


@pytest.mark.parametrize("start", ["first", "random"])
def test_batches_are_pure(start: Any, store: TrajectoryStore) -> None:
    def make() -> Windows:
        return Windows(store, range(len(LENGTHS)), length=4, start=start, seed=7)

    in_order = [make().batch(step, 3) for step in range(12)]
    windows = make()
    for step in (11, 0, 5, 5, 2):
        assert same_segment(windows.batch(step, 3), in_order[step])
    other = Windows(store, range(len(LENGTHS)), length=4, start=start, seed=8)
    assert not all(same_segment(other.batch(step, 3), in_order[step]) for step in range(12))


def test_every_epoch_takes_each_episode_once(store: TrajectoryStore) -> None:
    windows = Windows(store, range(len(LENGTHS)), length=12)

    def items() -> Iterator[int]:
        for step in range(100):
            segment = windows.batch(step, 3)
            yield from (find(store, segment, row)[0] for row in range(3))

    order = list(islice(items(), 21))
    epochs = [order[at : at + 7] for at in range(0, 21, 7)]
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_batch_larger_than_the_data(store: TrajectoryStore) -> None:
    segment = Windows(store, [0, 1], length=3).batch(4, 5)
    assert {find(store, segment, row)[0] for row in range(5)} == {0, 1}


def test_return_scale(store: TrajectoryStore) -> None:
    plain, scaled = (next(Windows(store, [1], length=4, return_scale=scale).fixed(1)) for scale in (1.0, 4.0))
    np.testing.assert_array_equal(plain.return_to_go / 4, scaled.return_to_go)


@pytest.mark.parametrize("observation", ["double", "image", "discrete", "multi", "binary", "dict", "tuple"])
@pytest.mark.parametrize("action", ["multi", "box"])
def test_every_space(observation: str, action: str, write: Any, episode: Any, kinds: Any) -> None:
    both = kinds(observation, action)
    store = write([episode(both, n, n) for n in (2, 4)], both, shard_steps=3)
    segment = next(Windows(store, [0, 1], length=3).fixed(2))
    form = space_form(both.observation)
    assert segment.action.dtype == (torch.float32 if action == "box" else torch.int64)
    for row, item in enumerate(store):
        real = min(len(item), 3)
        for name, rows in pack(item.observations, form, "x").items():
            found = pack(segment.observation, form, "x")[name]
            assert found.dtype == (
                torch.float32 if rows.dtype == np.float64 else torch.as_tensor(rows[:0].copy()).dtype
            )
            np.testing.assert_array_equal(found[row, :real], rows[:real].astype(found.numpy().dtype))
        np.testing.assert_array_equal(segment.action[row, :real], item.actions[:real])


def test_windows_of_nothing(store: TrajectoryStore) -> None:
    with pytest.raises(DataError, match="no episode"):
        Windows(store, [], length=3)
    with pytest.raises(ConfigError, match="length"):
        Windows(store, [0], length=0)


def test_a_window_of_twice_the_longest_episode_is_refused(store: TrajectoryStore) -> None:
    assert Windows(store, [2], length=23).longest == 12  # of the whole store, not of the one step of this episode
    words = "train.window = 24 but the longest episode has 12 steps; lower train.window or use longer episodes"
    with pytest.raises(ConfigError, match=f"^{words}$"):
        Windows(store, range(len(LENGTHS)), length=24)


@pytest.mark.parametrize(
    ("episodes", "fraction", "held_out"), [(10, 0.1, 1), (100, 0.2, 20), (2, 0.01, 1), (3, 0.99, 2)]
)
def test_split(episodes: int, fraction: float, held_out: int) -> None:
    train, valid = split_episodes(episodes, fraction, seed=1)
    assert len(valid) == held_out
    assert sorted([*train, *valid]) == list(range(episodes))
    again = split_episodes(episodes, fraction, seed=1)
    assert np.array_equal(train, again[0]) and np.array_equal(valid, again[1])


def test_split_without_validation() -> None:
    assert len(split_episodes(5, 0.0, 0)[1]) == 0
    assert split_episodes(1, 0.5, 0)[0].tolist() == [0]
    assert split_episodes(100, 0.5, 0)[1].tolist() != split_episodes(100, 0.5, 1)[1].tolist()
    with pytest.raises(DataError):
        split_episodes(0, 0.1, 0)


def test_parse_options() -> None:
    given = ["length=9", "rate=0.5", "name=up", "flag=true", "none=null", "many=[1,2]", "text=a=b", "nan=NaN", "empty="]
    assert parse_options(given) == {
        "length": 9, "rate": 0.5, "name": "up", "flag": True, "none": None, "many": [1, 2], "text": "a=b", "nan": "NaN",
        "empty": "",
    }  # fmt: skip


@pytest.mark.parametrize("bad", [["length"], ["=3"], ["a b=3"], ["x=1", "x=2"]])
def test_bad_options(bad: list[str]) -> None:
    with pytest.raises(ConfigError, match="option"):
        parse_options(bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"episodes": 0},
        {"seed": -1},
        {"start": "last"},
        {"validation_fraction": 1.0},
        {"validation_fraction": float("nan")},
        {"return_scale": 0.0},
        {"return_scale": float("inf")},
        {"options": ("length",)},
    ],
)
def test_bad_config(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        replace(DataConfig(), **bad)
    assert "\n" not in str(caught.value)
