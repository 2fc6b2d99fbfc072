"""Held-out action error: each step counts once, for the episode that it belongs to."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import Windows
from rate.evaluation.held_out import action_error
from rate.models import MODELS
from rate.types import Spaces, Trajectory

LENGTHS = [4, 7, 1, 6]
SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (2,), np.float32), action=gym.spaces.Box(-9, 9, (2,), np.float32))


@pytest.fixture
def store(tmp_path: Path) -> TrajectoryStore:
    """All actions of episode i are i."""
    with StoreWriter(tmp_path / "set", spaces=SPACES, environment="", options={}, generator="me") as writer:
        for index, steps in enumerate(LENGTHS):
            last = np.arange(steps) == steps - 1
            writer.add(
                Trajectory(
                    observations=np.zeros((steps + 1, 2), np.float32),
                    actions=np.full((steps, 2), index, np.float32),
                    rewards=np.zeros(steps, np.float32),
                    terminations=last,
                    truncations=np.zeros(steps, bool),
                )
            )
    return TrajectoryStore.open(tmp_path / "set")


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [1, 3]])
def test_each_step_counts_for_its_episode(batch: int, ids: list[int], store: TrajectoryStore) -> None:
    policy = MODELS.get("bc-mlp")(3).build(SPACES)
    torch.nn.init.zeros_(policy.readout.weight)  # it predicts 0, so that the error of episode i is i
    policy.train()
    found = action_error(policy, Windows(store, ids, length=3, start="random"), batch)
    assert policy.training
    assert {index: one.steps for index, one in found.episodes.items()} == {index: LENGTHS[index] for index in ids}
    for index, one in found.episodes.items():
        assert one.absolute_error == pytest.approx(index)
        assert one.loss == pytest.approx(index**2) and one.accuracy is None
    weights = np.array([LENGTHS[index] for index in ids])
    assert found.total.absolute_error == pytest.approx(np.average(ids, weights=weights))


def test_windows_at_the_start_leave_the_rest_out(store: TrajectoryStore) -> None:
    policy = MODELS.get("bc-mlp")(3).build(SPACES)
    found = action_error(policy, Windows(store, [0, 1], length=3), 8)
    assert [one.steps for one in found.episodes.values()] == [3, 3] and found.total.steps == 6
