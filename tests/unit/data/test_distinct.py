"""Distinct episodes: by content, whatever their seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces as gs

from rate.data import distinct as module
from rate.data.collect import collect
from rate.data.distinct import distinct, first_digests
from rate.data.store import StoreWriter, TrajectoryStore
from rate.envs import ENVS
from rate.envs.spec import CollectRequest
from rate.types import Spaces, Trajectory


def store(path: Path, **options: int) -> TrajectoryStore:
    request = CollectRequest(episodes=200, seed=0, kwargs=options)
    return collect(ENVS.get("tmaze"), request, path)


def test_episodes_of_other_seeds_may_be_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = store(tmp_path / "short", length=3)
    # Three observations, a noise of three values in each, and two clues.
    found = distinct(short)
    assert found is not None and 40 < found.episodes <= 54 and len(found.first_observations) == 6
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    assert distinct(short) is None


def test_of_some_episodes(tmp_path: Path) -> None:
    found = distinct(store(tmp_path / "some", length=30), np.array([7, 3]))
    assert found is not None and found.counts == {
        "of": 2,
        "episodes": 2,
        "first_observations": len({*found.first_observations}),
    }


@pytest.mark.parametrize("stack", [{}, {"observations.image": 2}])
def test_what_is_played_is_compared_with_what_is_stored(tmp_path: Path, stack: dict[str, int]) -> None:
    """Trees, other number types, stacks of frames and packed images: the same first observation has the same digest."""
    image = gs.Box(0, 255, (2, 40, 40), np.uint8)
    spaces = Spaces(observation=gs.Dict({"b": gs.Discrete(9), "image": image}), action=gs.Discrete(2))
    number = np.arange(5)
    frames = np.repeat(number[:, None], 2, 1)[..., None, None] * np.ones((1, 1, 40, 40))
    with StoreWriter(
        tmp_path / "own", spaces=spaces, environment="", options={}, generator="", frame_stack=stack
    ) as writer:
        for first in number:
            seen = {"b": np.array([first, 0]), "image": frames[[first, first]].astype(np.uint8)}
            row = np.zeros(1)
            writer.add(
                Trajectory(
                    observations=seen,
                    actions=row.astype(np.int64),
                    rewards=row,
                    terminations=row == 0,
                    truncations=row != 0,
                )
            )
    found = distinct(TrajectoryStore.open(tmp_path / "own"))
    assert found is not None and len(found.first_observations) == 5
    played = first_digests({"image": frames, "b": number.astype(np.int32)}, spaces.observation)
    assert set(played) == found.first_observations
    assert not set(first_digests({"image": frames, "b": number + 1}, spaces.observation)) & found.first_observations
