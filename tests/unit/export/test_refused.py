"""What cannot be exported is told in one line, and nothing is left behind."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from contracts.test_models import config_of
from rate.cli.main import main
from rate.errors import ConfigError
from rate.export import Asked, export_policy
from rate.models import SequencePolicy
from rate.models.policies.recurrent import RecurrentPolicy
from rate.models.policy import Output
from rate.testing import SPACES, build
from rate.types import Inputs, Segment, Tree


class Own(SequencePolicy[Tree]):
    """A policy of a user that is of none of the known kinds."""

    context = None

    def initial_state(self, batch: int) -> Tree:
        return ()

    def forward(self, segment: Segment, state: Tree) -> tuple[Output, Tree]:
        raise NotImplementedError

    def step(self, x: Inputs, state: Tree) -> tuple[Output, Tree]:
        raise NotImplementedError


class Odd(RecurrentPolicy):
    """Of a known kind, but its step is another."""

    def step(self, x: Inputs, state: Tree) -> tuple[Output, Tree]:
        output, state = super().step(x, state)
        return Output(prediction=output.prediction + 1), state


class Untold(torch.nn.Module):
    """A network that ONNX has no operators for."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.linalg.pinv(x[..., None] @ x[..., None, :])[..., 0]


def test_a_policy_without_a_form(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Own cannot be exported.*form_of\.register"):
        export_policy(Own(SPACES["vector"], 8), tmp_path / "out", Asked())
    assert not any(tmp_path.iterdir())


def test_a_step_that_is_not_what_was_traced(tmp_path: Path) -> None:
    policy = build(config_of("bc-mlp"), SPACES["vector"]).eval()
    policy.__class__ = Odd
    with pytest.raises(ConfigError, match="differ from its step"):
        export_policy(policy, tmp_path / "out", Asked())
    assert not any(tmp_path.iterdir())


def test_a_network_without_operators(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    policy: Any = build(config_of("bc-mlp"), SPACES["vector"]).eval()
    policy.tokens.observation = torch.nn.Sequential(policy.tokens.observation, Untold())
    with pytest.raises(ConfigError, match="this policy cannot be exported: "):
        export_policy(policy, tmp_path / "out", Asked())
    assert capfd.readouterr().out == ""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    changes = ["--train.steps", "2", "--data.episodes", "20", "--eval.cases", "length=5"]
    assert main(["train", "tmaze/bc-mlp", "--out", "run", *changes]) == 0
    return tmp_path / "run"


def test_on_the_command_line(run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*words: str) -> str:
        capsys.readouterr()
        assert main(["export", *words]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "Traceback" not in said
        return said

    assert main(["export", "run", "--out", "out"]) == 0
    assert sorted(file.name for file in Path("out").iterdir()) == ["card.json", "runner.py", "start.npz", "step.onnx"]
    assert "out is there already" in fails("run", "--out", "out")
    assert "is not a run directory" in fails("missing", "--out", "other")
    (run / "checkpoints" / "last").unlink()
    fails("run", "--out", "other")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "pip install 'rate-rl[export]'" in fails("run", "--out", "other")
    assert not Path("other").exists()
