"""train.compile and train.precision: the same losses as without, and one line where there is no compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integration.tiny import metrics, words
from unit.training.making import trainer_of

SETTLED = {"dropout": 0.0, "memory_noise": 0.0}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_training_has_the_same_losses(tmp_path: Path) -> None:
    for name in ("plain", "compiled"):
        fields = {"steps": 5, "window": 6, "log_every": 1, "validate_every": 5, "compile": name == "compiled"}
        trainer = trainer_of(tmp_path / name, model=SETTLED, **fields)
        trainer.fit()
    assert trainer.policy._compiled_call_impl is not None
    plain, compiled = metrics(tmp_path / "plain"), metrics(tmp_path / "compiled")
    assert len(plain) == len(compiled) == 6
    for expected, found in zip(plain, compiled, strict=True):
        assert found == pytest.approx(expected, abs=1e-5)


def test_half_precision_has_nearly_the_same_losses(tmp_path: Path) -> None:
    for name in ("float32", "bfloat16"):
        fields = {"steps": 20, "log_every": 1, "validate_every": 20, "precision": name}
        trainer_of(tmp_path / name, model=SETTLED, **fields).fit()
    single, half = (
        [line["train/loss"] for line in metrics(tmp_path / name) if "train/loss" in line]
        for name in ("float32", "bfloat16")
    )
    assert half != single and half == pytest.approx(single, abs=0.02)


def test_without_a_compiler_there_is_one_line(tmp_path: Path) -> None:
    own = {"CXX": str(tmp_path / "missing"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "rate", *words(tmp_path / "run", "--train.compile", steps=2)]
    ended = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True)
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("rate: train.compile cannot be used here, leave it out: ")
