"""The mean of weights: what it is, that training does not notice it, and that it is resumed exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from integration.tiny import assert_same_run, config, same_tensors
from rate.experiment import Run, train_run
from rate.training.average import Average
from rate.training.checkpoint import load_checkpoint, without_prefix
from rate.training.config import TrainConfig


def test_the_first_steps_count_alike_and_later_ones_replace_a_share() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    average = Average(layer, TrainConfig(steps=40, average=0.1))
    expected = 0.0
    for step, value in enumerate((1.0, 2.0, 6.0, 7.0, 8.0), 1):
        with torch.no_grad():
            layer.weight.fill_(value)
        average.follow(step)
        expected += (value - expected) / min(step, 4)
        with average.acting():
            assert layer.weight.item() == pytest.approx(expected)
        assert layer.weight.item() == value
    assert expected == pytest.approx((4.0 * 3 + 8.0) / 4), "a mean of four, then a quarter is replaced"


def test_training_goes_the_same_way_and_what_acts_is_the_mean(train: Any) -> None:
    plain, averaged = train("plain", average=0.0), train("averaged", average=0.5)
    last, kept = (load_checkpoint(run / "checkpoints" / "step_30", training=True) for run in (plain, averaged))
    assert same_tensors(last.weights, without_prefix("policy", kept.training))
    assert not same_tensors(last.weights, kept.weights)
    assert same_tensors(Run.load(averaged).policy.state_dict(), kept.weights)


def test_a_stopped_training_goes_on_with_the_same_mean(train: Any, tmp_path: Path) -> None:
    """It is stopped between two checkpoints, and goes on at the one before."""

    def stop(step: int, _: object) -> None:
        if step == 12:
            raise RuntimeError("stopped")

    whole, stopped = train("whole", average=0.5), config(average=0.5)
    with pytest.raises(RuntimeError, match="stopped"):
        train_run(stopped, tmp_path / "stopped", on_step=stop)
    train_run(stopped, tmp_path / "stopped", resume=True)
    assert_same_run(whole, tmp_path / "stopped")
