"""Modules of the user's, outside of the library: named with --import, or offered by an installed package.

What they are good for (train, evaluate, play, a suite with two jobs) is run by the page docs/howto/extend.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rate import plugins
from rate.cli.main import main
from rate.objectives import OBJECTIVES
from rate.registry import CONFIG_CLASSES, SOURCES

LAB = """
from rate.recipes import RECIPES, recipe

RECIPES.add("lab/NAME", lambda: recipe("tmaze/rate"))
"""


def run(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "rate", *words], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )


def install(place: Path, package: str, module: str, source: str) -> None:
    """What an installer leaves of a package with an entry point."""
    (place / f"{module}.py").write_text(source)
    info = place / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rate.plugins]\nanything = {module}\n")


def test_installed_packages_are_seen_and_a_broken_one_stops_nothing(tmp_path: Path) -> None:
    install(tmp_path, "my-lab", "my_lab_module", LAB.replace("NAME", "installed"))
    install(tmp_path, "sad-lab", "sad_lab_module", "import not_there_at_all\n")
    listed = run(tmp_path, "list", "recipes")
    assert listed.returncode == 0 and "lab/installed" in listed.stdout.split()
    (line,) = listed.stderr.splitlines()
    assert "sad_lab_module" in line and "sad-lab" in line and "not_there_at_all" in line
    helped = run(tmp_path, "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    looked = run(tmp_path, "doctor", "--json")
    found = {finding["what"]: finding["state"] for finding in json.loads(looked.stdout)}
    assert looked.returncode == 1 and looked.stderr == ""
    assert found["plug-in my_lab_module of my-lab"] == "ok" and found["plug-in sad_lab_module of sad-lab"] == "bad"


@pytest.mark.parametrize("before", [True, False])
def test_a_module_is_found_in_the_current_directory(
    before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"lab_in_a_directory_{before}".lower()
    (tmp_path / f"{name}.py").write_text(LAB.replace("NAME", name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    option = [f"--import={name}"] if before else ["--import", name]
    assert main([*option, "list", "recipes"] if before else ["list", "recipes", *option]) == 0
    assert f"lab/{name}" in capsys.readouterr().out.split()
    assert main(["list", "recipes", *option]) == 0  # imported, and so registered, once
    assert plugins.options() == ["--import", name] and {name} <= set(plugins.needed()) <= {*SOURCES, name}
    assert main(["list", "envs"]) == 0 and plugins.options() == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--import"], "--import needs the name of a module"),
        (["--import", "--json"], "--import needs the name of a module"),
        (["--import", "no_such_module"], "no module 'no_such_module'"),
        (["--import", "wrong_lab.py"], "not 'wrong_lab.py': --import wrong_lab"),
        (["--import", "wrong_lab"], "module 'wrong_lab' cannot be imported: ZeroDivisionError"),
    ],
)
def test_a_module_that_cannot_be_imported(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "wrong_lab.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["list", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rate: ") and message in line


def test_a_mistaken_command_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab_never_wanted.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    assert main(["nope", "--import", "lab_never_wanted"]) == 2
    assert "lab_never_wanted" not in sys.modules


OBJECTIVE = """
from dataclasses import dataclass

from rate.objectives import OBJECTIVES, BehaviourCloningConfig
from rate.objectives.behaviour_cloning import BehaviourCloning
from rate.registry import CONFIG_CLASSES


class Twice(BehaviourCloning):
    def forward(self, policy, window):
        loss = super().forward(policy, window)
        return type(loss)(total=2 * loss.total, parts={"once": loss.total.detach()}, weight=loss.weight)


@OBJECTIVES.register("twice")
@CONFIG_CLASSES.register("TwiceConfig")
@dataclass(frozen=True, kw_only=True)
class TwiceConfig(BehaviourCloningConfig):
    name: str = "twice"

    def build(self, policy, run):
        return Twice(run)
"""


def test_an_objective_and_a_run_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lab_objective.py").write_text(OBJECTIVE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for registry in (OBJECTIVES, CONFIG_CLASSES):
        monkeypatch.setattr(registry, "_values", dict(registry._values))
    small = ["--train.steps", "2", "--train.batch-size", "4", "--data.episodes", "12", "--train.evaluate-every", "0"]
    words = ["train", "tmaze/rate", "--objective", "twice", "--out", "run", *small]
    assert main([*words, "--import", "lab_objective"]) == 0
    assert "rate eval run --import lab_objective" in capsys.readouterr().out
    assert '"--import"' in (tmp_path / "run" / "environment.json").read_text()
    for registry in (OBJECTIVES, CONFIG_CLASSES):  # as in a process that has not imported it
        registry._values.pop("twice", None), registry._values.pop("TwiceConfig", None)
    assert main(["eval", "run", "--set", "length=9", "--episodes", "2"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "TwiceConfig" in line and "--import MODULE" in line
