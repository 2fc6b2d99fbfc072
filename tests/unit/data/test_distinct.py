"""Distinct episodes: by content, whatever their seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from rate.data import distinct as module
from rate.data.collect import collect
from rate.data.distinct import distinct
from rate.data.store import TrajectoryStore
from rate.envs import ENVS
from rate.envs.spec import CollectRequest


def store(path: Path, **options: int) -> TrajectoryStore:
    request = CollectRequest(episodes=200, seed=0, kwargs=options)
    return collect(ENVS.get("tmaze"), request, path)


def test_episodes_of_other_seeds_may_be_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = store(tmp_path / "short", length=3)
    # Three observations, a noise of three values in each, and two clues.
    found = distinct(short)
    assert found is not None and 40 < found["episodes"] <= 54 and found["first_observations"] == 6
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    assert distinct(short) is None
