"""Synthetic run directories, written as a training run and its evaluation write them.

The curves are smooth functions of the step, so every figure has something to show.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rate.reports import Report, write_report

Lines = Sequence[Mapping[str, Any]]


class RunFactory:
    """Writes run directories below one folder, and makes the lines of their files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(
        self,
        name: str,
        *,
        model: str = "rate",
        env: str = "tmaze",
        seed: int = 0,
        records: Lines = (),
        metrics: Lines | None = None,
        costs: Lines = (),
        meta: Mapping[str, Any] | None = None,
        command: Sequence[str] = (),
        width: int = 64,
        **changes: Any,
    ) -> Path:
        path = self.root / name
        path.mkdir(parents=True)
        config = {"recipe": f"{env}-{model}", "seed": seed, "model": {"name": model, "width": width}}
        (path / "config.json").write_text(json.dumps({**config, "env": {"name": env}, **changes}))
        (path / "environment.json").write_text(json.dumps({"device": "cpu", "command": list(command)}))
        self.write(path / "metrics.jsonl", self.curves() if metrics is None else metrics)
        self.write(path / "eval.jsonl", records)
        self.write(path / "evaluations.jsonl", costs)
        if meta is not None:
            (path / "meta.json").write_text(json.dumps(meta))
        return path

    def grid(
        self, models: Sequence[str], lengths: Sequence[int], cases: Sequence[int], seeds: int = 1, steps: int = 1000
    ) -> list[Path]:
        """Models trained on every length and evaluated on every case, as the runs of a suite are named."""
        return [
            self._trained(model, at, length, cases, seed, steps)
            for at, model in enumerate(models)
            for length in lengths
            for seed in range(seeds)
        ]

    def _trained(self, model: str, at: int, length: int, cases: Sequence[int], seed: int, steps: int) -> Path:
        """A run that is right up to a multiple of its training length, the later models longer."""
        rates = {case: 1.0 if case <= length * (1 + at) else 0.5 + 0.03 * seed for case in cases}
        records = [
            line for case, rate in rates.items() for line in self.episodes(f"length-{case}", round(100 * rate), 100)
        ]
        curves = [
            {**line, "time/training_seconds": 0.1 * line["step"]} if "train/loss" in line else line
            for line in self.curves(1 + 0.2 * at + 0.02 * seed)
        ]
        return self(
            f"{model}-{length}/seed{seed}",
            model=model,
            seed=seed,
            records=records,
            metrics=curves,
            costs=[self.cost(f"length-{case}", 0.5 + at) for case in cases],
            meta={"train_length": length, "axis": "length", "axis_unit": "environment steps"},
            train={"window": length, "steps": steps, "learning_rate": 1e-3},
            data={"options": [f"length={length}"]},
        )

    @staticmethod
    def write(path: Path, lines: Lines) -> None:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    @staticmethod
    def episode(case: str, seed: int, success: bool | None = True, **changes: Any) -> dict[str, Any]:
        """One line of eval.jsonl; the tag is the number at the end of the case."""
        record = {
            "case": case,
            "seed": seed,
            "episode_return": 1.0 if success else 0.0,
            "length": 10,
            "success": success,
            "target_return": 1.0,
            "checkpoint": "last",
            "step": 100,
            "tags": {"length": case.rsplit("-", 1)[-1]},
        }
        return {**record, **changes}

    def episodes(self, case: str, successes: int, n: int, **changes: Any) -> list[dict[str, Any]]:
        """n episodes of one case, the first of them successful."""
        return [self.episode(case, seed, seed < successes, **changes) for seed in range(n)]

    @staticmethod
    def cost(case: str, ms_per_step: float = 0.5, **changes: Any) -> dict[str, Any]:
        """One line of evaluations.jsonl."""
        line = {"case": case, "checkpoint": "last", "step": 100, "episodes": 20, "seconds": 1.5, "env_steps": 3000}
        return {**line, "ms_per_step": ms_per_step, "batch": 16, "threads": 2, **changes}

    @staticmethod
    def curves(scale: float = 1.0) -> list[dict[str, Any]]:
        """Metrics of a run of 2000 steps."""
        lines: list[dict[str, Any]] = []
        for step in range(10, 2001, 10):
            loss = scale * (0.7 * math.exp(-step / 400) + 0.02 + 0.01 * math.sin(step))
            lines.append({"step": step, "train/loss": loss, "train/lr": 1e-4})
            if step % 200 == 0:
                lines.append({"step": step, "valid/loss": loss * 1.2, "valid/accuracy": 1 - loss / 2})
            if step % 500 == 0:
                lines += [{"step": step, f"eval/length-{at}/success_rate": 1 - loss} for at in (30, 90)]
        return lines


@pytest.fixture
def make_run(tmp_path: Path) -> RunFactory:
    return RunFactory(tmp_path / "runs")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """One report over three models with hostile names and a cut-off file, and its directory."""
    root = tmp_path_factory.mktemp("report")
    make = RunFactory(root / "runs")
    meta = {"train_length": 30, "axis": "length", "metric": "success_rate"}
    command = ["rate", "train", "<b>x</b>"]
    paths = []
    for seed in (0, 1):
        records = make.episodes("length-90", 18 + seed, 20) + make.episodes("length-9", 20, 20)
        costs = [make.cost("length-90"), make.cost("length-9")]
        paths.append(make(f"rate-{seed}", seed=seed, records=records, costs=costs, meta=meta, command=command))
    hostile = "<script>alert(1)</script>|'\"$x$ & _"
    paths.append(make("hostile", model=hostile, records=make.episodes("length-9", 5, 10), meta=meta))
    paths.append(make("dt-0", model="dt", metrics=make.curves(2), meta=meta))
    with (paths[0] / "eval.jsonl").open("a") as file:
        file.write('{"case": "len')
    return write_report(paths, root / "out"), root / "out"
