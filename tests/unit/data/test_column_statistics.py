"""Moments of columns: one pass over chunks equals NumPy on all rows, of the chosen episodes alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces as gs

from rate.data import column_statistics
from rate.data.column_statistics import moments
from rate.data.store import StoreWriter, TrajectoryStore
from rate.types import Spaces, Trajectory

LENGTHS = (3, 11, 1, 7)


@pytest.fixture
def store(tmp_path: Path) -> TrajectoryStore:
    """A sensor far from zero, one that never changes and one that is huge; in two shards."""
    spaces = Spaces(observation=gs.Box(-np.inf, np.inf, (3,), np.float64), action=gs.Box(-9, 9, (2,), np.int16))
    rng = np.random.default_rng(0)
    given = {"spaces": spaces, "environment": "toy", "options": {}, "generator": "random", "shard_steps": 10}
    with StoreWriter(tmp_path / "set", **given, sync=False) as writer:
        for length in LENGTHS:
            seen = np.stack([1e8 + rng.random(length + 1), np.full(length + 1, 7.0), 1e6 * rng.random(length + 1)], 1)
            writer.add(
                Trajectory(
                    observations=seen,
                    actions=rng.integers(-9, 10, (length, 2)).astype(np.int16),
                    rewards=np.ones(length, np.float32),
                    terminations=np.arange(length) == length - 1,
                    truncations=np.zeros(length, bool),
                )
            )
    return TrajectoryStore.open(tmp_path / "set")


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
def test_one_pass_equals_numpy(store: TrajectoryStore, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_statistics, "CHUNK_BYTES", chunk)
    ids = np.array([0, 1, 3])
    for name, field in (("observations", "observations"), ("actions", "actions")):
        rows = np.concatenate([getattr(store[int(index)], field) for index in ids]).astype(np.float64)
        found = moments(store, ids, name)
        np.testing.assert_allclose(found.mean, rows.mean(0), rtol=1e-12)
        np.testing.assert_allclose(found.std, rows.std(0), rtol=1e-6, atol=1e-12)
        np.testing.assert_array_equal([found.low, found.high], [rows.min(0), rows.max(0)])
    assert moments(store, ids, "observations").peak[1] == 0


def test_large_columns_are_sampled(store: TrajectoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_statistics, "MOST_BYTES", 26 * 24 // 2)
    found = moments(store, np.arange(4), "observations")
    rows = np.concatenate([store[0].observations, store[2].observations])
    np.testing.assert_allclose(found.mean, rows.mean(0), rtol=1e-12)
