"""MuJoCo from data of others to an evaluated policy: D4RL's files and Minari's sets, and what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rate.cli.main import main
from rate.envs import ENVS
from rate.envs.spec import CollectRequest
from rate.types import Array

pytest.importorskip("mujoco", reason="needs the extra mujoco")
h5py = pytest.importorskip("h5py", reason="needs the extra minari")

STEPS = 70
FEW = ["--train.steps=4", "--train.batch-size=4", "--eval.episodes=2", "--eval.max-steps=30"]
SMALL = [*FEW, "--model.layers=1", "--model.width=16", "--model.heads=1", "--model.head-width=16"]


def d4rl(path: Path, walker: str, **without: bool) -> Path:
    """Six episodes in the layout of D4RL v2: flat columns, one row per step."""
    request = CollectRequest(episodes=6, seed=0, kwargs={"grade": "medium-expert", "max_steps": STEPS})
    items = list(ENVS.get(f"mujoco/{walker}").expert(request))
    columns: dict[str, Array] = {
        "observations": np.concatenate([item.observations[:-1] for item in items]),
        "next_observations": np.concatenate([item.observations[1:] for item in items]),
        "actions": np.concatenate([item.actions for item in items]),
        "rewards": np.concatenate([item.rewards for item in items]).astype(np.float32),
        "terminals": np.concatenate([item.terminations for item in items]),
        "timeouts": np.concatenate([item.truncations for item in items]),
        "infos/action_log_probs": np.zeros(sum(map(len, items)), np.float32),
    }
    with h5py.File(path, "w") as file:
        for name, values in columns.items():
            if not without.get(name):
                file[name] = values
        file["metadata/algorithm"] = "SAC"
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path


def line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error."""
    said = capsys.readouterr().err.strip().splitlines()
    return said[-1]


def test_a_d4rl_file_is_imported_trained_on_and_judged_in_the_environment(place: Path, capsys: Any) -> None:
    d4rl(place / "hopper_medium-v2.hdf5", "hopper")
    assert main(["data", "import", "hopper_medium-v2.hdf5", "--out", "log", "--env", "mujoco/hopper"]) == 0
    assert "6 episodes" in capsys.readouterr().out
    assert main(["train", "mujoco/hopper/rate", "--out", "run", "--data.path", "log", *SMALL]) == 0
    capsys.readouterr()
    assert main(["eval", "run", "--prompt", "countdown", "--json"]) == 0
    assert "normalised_score" in capsys.readouterr().out


def test_minaris_sets_load_by_their_id(place: Path, capsys: Any) -> None:
    pytest.importorskip("minari")
    options = ["--set", "grade=medium", "--set", f"max_steps={STEPS}"]
    assert main(["collect", "mujoco/hopper", "--episodes", "4", *options, "--out", "log"]) == 0
    assert main(["data", "export", "log", "mujoco/hopper/medium-v0"]) == 0
    named = ["--data.path", "minari:mujoco/hopper/medium-v0"]
    assert main(["train", "mujoco/hopper/bc-mlp", "--out", "run", *named, *FEW]) == 0
    assert main(["eval", "run"]) == 0


def test_data_of_another_walker_is_refused_before_training(place: Path, capsys: Any) -> None:
    d4rl(place / "halfcheetah.hdf5", "halfcheetah")
    assert main(["data", "import", "halfcheetah.hdf5", "--out", "log", "--env", "mujoco/hopper"]) == 2
    assert "17" in line(capsys)
    assert main(["data", "import", "halfcheetah.hdf5", "--out", "log"]) == 0
    capsys.readouterr()
    assert main(["train", "mujoco/hopper/bc-mlp", "--out", "run", "--data.path", "log", "--train.steps", "4"]) == 2
    assert "(17,)" in line(capsys)
    assert not (place / "run" / "checkpoints" / "last").exists()


def test_a_file_without_timeouts_says_so(place: Path, capsys: Any) -> None:
    d4rl(place / "cut.hdf5", "halfcheetah", timeouts=True)
    assert main(["data", "import", "cut.hdf5", "--out", "log", "--env", "mujoco/halfcheetah"]) == 0
    assert "cut.hdf5 has terminals and no timeouts" in capsys.readouterr().err
