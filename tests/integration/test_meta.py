"""What a run tells its reports of the data that it was trained on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integration.tiny import config
from rate.config import edit
from rate.experiment import train_run
from rate.recipes import recipe


def meta(path: Path) -> dict[str, object]:
    return dict(json.loads((path / "meta.json").read_text()))


def test_the_training_length_is_that_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    train_run(config(steps=1), tmp_path / "run")
    assert meta(tmp_path / "run")["train_length"] == 9
    assert meta(tmp_path / "run")["data_return"] == 1.0


def test_an_axis_that_does_not_count_steps_has_its_own_training_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of steps is not a size of a grid."""
    pytest.importorskip("minigrid", reason="needs the extra minigrid")
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    small = {"data.episodes": 20, "data.options": ("size=11",), "train.window": 15, "train.steps": 1}
    train_run(edit(recipe("minigrid-memory/bc-mlp"), small), tmp_path / "run")
    assert meta(tmp_path / "run")["train_length"] == 11
