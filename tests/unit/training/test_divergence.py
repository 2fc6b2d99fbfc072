"""Divergence tells the truth: there is always a good checkpoint, and none that cannot act is called one."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from integration.tiny import config, same_tensors
from rate.config import config_to_json
from rate.errors import CheckpointError, ConfigError, DivergedError
from rate.evaluation.evaluator import EvalConfig
from rate.experiment import Run, run_state, seed_everything, train_run
from rate.training.checkpoint import CARD, WEIGHTS, sealed
from rate.training.config import TrainConfig


def kept(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").glob("step_*"))


@pytest.mark.parametrize("rate", [1e37, 1e12])
def test_weights_that_exploded_are_not_called_good(rate: float, tmp_path: Path) -> None:
    """The first update ruins the weights, and a checkpoint is due after it."""
    chosen = config(steps=3, checkpoint_every=1, learning_rate=rate, warmup_steps=0)
    with pytest.raises(DivergedError, match="the last good checkpoint, of step 0, is kept in"):
        train_run(chosen, tmp_path / "run")
    assert kept(tmp_path / "run") == ["step_0"]
    loaded = Run.load(tmp_path / "run")
    seed_everything(chosen.seed)
    fresh = chosen.model.build(loaded.spaces)
    weights = [one.state_dict() for one in (loaded.policy, fresh)]
    both = [{name: one[name] for name in one if ".unit." not in name} for one in weights]
    assert same_tensors(*both)  # apart from the units of the data
    assert run_state(chosen, tmp_path / "run").text == "at step 0 of 3"


def test_data_that_no_weights_can_take_is_named(tmp_path: Path) -> None:
    """Returns-to-go of 1e38 overflow in the first layer, before anything is trained."""
    with pytest.raises(DivergedError, match="before any training; look for values that are too large"):
        train_run(config(data={"return_scale": 1e-38}), tmp_path / "run")


@pytest.mark.parametrize("rate", [1e39, 1e-50, float("nan"), float("inf"), 0.0, -1e-3])
def test_a_learning_rate_that_float32_cannot_hold(rate: float) -> None:
    with pytest.raises(ConfigError, match="learning_rate"):
        TrainConfig(learning_rate=rate)


@pytest.mark.parametrize("target", [float("nan"), float("-inf"), 1e39])
def test_a_target_that_is_not_finite(target: float) -> None:
    with pytest.raises(ConfigError, match="target_return"):
        EvalConfig(target_return=target)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bad") / "run"
    train_run(config(steps=1), out)
    return out


def forge(run: Path, change: Any) -> None:
    """Other weights, with a checksum that fits them."""
    place = run / "checkpoints" / "step_1"
    weights = {name: tensor.clone() for name, tensor in load_file(place / WEIGHTS).items()}
    name = next(name for name, value in weights.items() if value.dim() == 2)
    weights[name] = change(weights[name])
    save_file(weights, place / WEIGHTS)
    card = json.loads((place / CARD).read_text())
    card["checksums"][WEIGHTS] = zlib.crc32((place / WEIGHTS).read_bytes())
    (place / CARD).write_text(json.dumps(sealed(card)))


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda tensor: tensor.index_fill(0, torch.tensor([0]), float("nan")), "not finite"),
        (lambda tensor: tensor.index_fill(0, torch.tensor([0]), float("inf")), "not finite"),
        (lambda tensor: tensor.double(), "float64"),
        (lambda tensor: tensor.to(torch.int32), "int32"),
    ],
)
def test_weights_that_are_not_finite_or_of_another_type(change: Any, said: str, trained: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    forge(run, change)
    with pytest.raises(CheckpointError, match=said):
        Run.load(run)


def test_the_first_checkpoint_holds_the_configuration(trained: Path) -> None:
    assert config_to_json(Run.load(trained).config) == config_to_json(config(steps=1))
