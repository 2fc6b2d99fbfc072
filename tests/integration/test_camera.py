"""An own problem with nothing but data and environment: images in a Dict, continuous actions, a colour to remember."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

from rate.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
def test_it_is_solved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", ["camera.py", "data/camera", "1500"])
    runpy.run_path(str(EXAMPLES / "camera.py"), run_name="__main__")
    trained = ["train", "--data", "data/camera", "--env", "camera:make", "--train.steps", "1200", "--out", "run"]
    assert main([*trained, "--threads", "1"]) == 0
    capsys.readouterr()
    assert main(["eval", "run", "--env", "camera:make", "--episodes", "50", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["return_mean"] > 0.9  # without memory at most 0.5
