"""The memory condition is logged during training, for every case that was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rate.experiment import train_run
from rate.recipes import recipe

TINY = {
    "train.window": 9,
    "train.segment_lens": (),
    "train.steps": 2,
    "train.batch_size": 4,
    "train.evaluate_every": 1,
    "train.evaluate_episodes": 4,
    "data.episodes": 10,
    "data.options": ("length=9",),
}


@pytest.mark.parametrize(("env", "cues"), [("aar", ("0", "1")), ("tmaze", ("-1", "1"))])
def test_every_case_has_its_metrics(
    env: str, cues: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    cases = ("length=9", "length=18")
    changes = {**TINY, "train.evaluate_cases": cases, "eval.cases": ("length=12",), "model.segment_len": 3}
    run = train_run(recipe(f"{env}/rate", changes), tmp_path / "run")
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    (last,) = [line for line in lines if line["step"] == 2 and any(key.startswith("eval/") for key in line)]
    names = ["return_mean", "success_rate", *(f"recall/{cue}" for cue in cues), "recall/sum"]
    assert {key for key in last if key != "step"} == {f"eval/{case}/{name}" for case in cases for name in names}
    for case in cases:
        parts = [last[f"eval/{case}/recall/{cue}"] for cue in cues]
        assert last[f"eval/{case}/recall/sum"] == pytest.approx(sum(parts)) and min(parts) > 0
