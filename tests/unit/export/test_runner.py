"""The runner needs NumPy and onnxruntime only, and refuses what it cannot run."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from contracts.test_models import config_of
from rate.export import Asked, export_policy
from rate.export.check import samples
from rate.export.runner import Policy
from rate.models import SequencePolicy
from rate.models.actor import Actor
from rate.testing import SPACES, build

RUNNER = Path(str(find_spec("rate.export.runner").origin))  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def policy() -> SequencePolicy[Any]:
    torch.manual_seed(0)
    return build(config_of("rate"), SPACES["tree"]).eval()


@pytest.fixture(scope="module")
def folder(policy: SequencePolicy[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runner") / "export"
    export_policy(policy, place, Asked(target_return=1.0))
    return place


def test_it_is_short_and_imports_two_packages() -> None:
    text = RUNNER.read_text()
    assert len(text.splitlines()) <= 60
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes}
    assert {str(name).partition(".")[0] for name in modules} - set(sys.stdlib_module_names) == {"numpy", "onnxruntime"}


PLAY = """
import importlib.util, json, sys
for name in ("torch", "gymnasium", "rate", "onnx"):
    assert importlib.util.find_spec(name) is None, name
sys.path.insert(0, sys.argv[1])
from runner import Policy
policy = Policy(sys.argv[1])
policy.reset()
print(json.dumps([policy.act(seen, reward).tolist() for seen, reward in json.loads(sys.stdin.read())]))
"""


def test_it_plays_where_there_is_no_torch(policy: SequencePolicy[Any], folder: Path, tmp_path: Path) -> None:
    """An interpreter without site-packages that is shown NumPy and onnxruntime alone."""
    for package in ("numpy", "onnxruntime"):
        home = Path(str(find_spec(package).origin)).parent  # type: ignore[union-attr]
        for part in (home, home.with_name(f"{package}.libs")):
            if part.exists():
                os.symlink(part, tmp_path / part.name)
    observations, actor = samples(policy.spaces.observation, 1), Actor(policy, target_return=1.0)
    given, actions = [], []
    for time in range(4 * 3 + 2):
        observation = next(observations)
        actions.append(actor.act(observation).tolist())
        given.append((_listed(observation), 0.1 * (time - 1)))  # the reward that followed the last action
        actor.observe(0.1 * time)
    code = f"import sys; sys.path.append({str(tmp_path)!r})\n{PLAY}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(folder)],
        input=json.dumps(given), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == actions


def _listed(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _listed(part) for key, part in tree.items()}
    return [_listed(part) for part in tree] if isinstance(tree, tuple) else tree.tolist()


def test_graphs_take_any_batch_and_are_clean(folder: Path) -> None:
    card = json.loads((folder / "card.json").read_text())
    assert card["graphs"] == ["step.onnx", "border.onnx"] and card["segment"] == 3
    for name in card["graphs"]:
        model = onnx.load(folder / name)
        onnx.checker.check_model(model, full_check=True)
        assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", card["opset"])]
        axes = {value.name: value.type.tensor_type.shape.dim for value in model.graph.input}
        assert all(dims[0].dim_param == "batch" for name, dims in axes.items() if name != "timestep")
    start = np.load(folder / "start.npz")
    assert all(start[state["name"]].shape == (1, *state["shape"]) for state in card["states"])


def test_episodes_do_not_leak_into_each_other(folder: Path, policy: SequencePolicy[Any]) -> None:
    runner, observation = Policy(folder), next(samples(policy.spaces.observation, 2))

    def predictions() -> list[Any]:
        runner.reset()
        return [(runner.act(observation, 1.0), runner.prediction)[1].tolist() for _ in range(7)]

    assert predictions() == predictions()


def test_wrong_shapes_and_changed_files_are_refused(folder: Path, policy: SequencePolicy[Any], tmp_path: Path) -> None:
    runner, observations = Policy(folder), samples(policy.spaces.observation, 2)
    runner.reset()
    runner.act(next(observations))
    with pytest.raises(ValueError, match=r"observation.place: \(3, 2, 2\) is not the shape \(2, 2, 2\)"):
        runner.act(next(samples(policy.spaces.observation, 3)))
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "start.npz").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"start\.npz is not the file that was exported"):
        Policy(copy)
