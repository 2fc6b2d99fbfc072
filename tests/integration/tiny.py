"""A run that takes a second: one layer, width 16, windows of nine steps, and what to compare of two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from rate.config import RunConfig
from rate.recipes import recipe

MODEL: dict[str, Any] = {
    "layers": 1,
    "width": 16,
    "heads": 2,
    "head_width": 8,
    "segment_len": 3,
    "memory_tokens": 2,
    "dropout": 0.2,
    "return_to_go": True,
}
DATA = {"episodes": 200, "options": ("length=9",)}
TRAIN = {
    "window": 9,
    "steps": 30,
    "batch_size": 8,
    "learning_rate": 3e-3,
    "warmup_steps": 5,
    "log_every": 1,
    "validate_every": 10,
    "checkpoint_every": 8,
    "device": "cpu",
    "segment_lens": (),
    "borders": "even",
}


def config(seed: int = 0, data: dict[str, Any] | None = None, **train: Any) -> RunConfig:
    """The recipe tmaze/rate, made tiny."""
    given = {"model": MODEL, "data": {**DATA, **(data or {})}, "train": {**TRAIN, **train}, "seed": seed}
    return recipe("tmaze/rate", {**given, "eval": {"cases": ("length=9",), "episodes": 8, "batch": 8}})


def _texts(value: Any) -> list[str]:
    """A flag has no value, a tuple one for each part."""
    if value is True:
        return []
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]


def words(out: Path | str, *more: str, **train: Any) -> list[str]:
    """The same as arguments of the command."""
    fields: dict[str, Any] = {f"model.{name}": value for name, value in MODEL.items()}
    fields |= {
        "data.episodes": 200,
        "data.options": "length=9",
        "eval.cases": "length=9",
        "eval.episodes": 8,
        "eval.batch": 8,
    }
    fields |= {f"train.{name}": value for name, value in {**TRAIN, **train}.items()}
    pairs = [text for name, value in fields.items() for text in (f"--{name.replace('_', '-')}", *_texts(value))]
    return ["train", "tmaze/rate", *pairs, "--out", str(out), *more]


def tensors(run: Path, which: str = "last") -> dict[str, Tensor]:
    """Weights, optimiser and random state of a checkpoint."""
    at = run / "checkpoints" / (run / "checkpoints" / which).read_text().split()[0]
    found = {**load_file(at / "weights.safetensors"), **load_file(at / "training.safetensors")}
    return {name: value.clone() for name, value in found.items()}  # else a map of the file, whatever becomes of it


def same_tensors(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def metrics(run: Path) -> list[dict[str, float]]:
    """Everything that was logged, times apart."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in lines]


def files(root: Path) -> dict[str, bytes]:
    """Every file under a directory with its content, and every directory."""
    inside = sorted(root.rglob("*"))
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"" for path in inside}


def assert_same_run(one: Path, other: Path) -> None:
    """Bit for bit the same result, and each step logged once with the same loss."""
    for which in ("last", "best"):
        pointers = [(run / "checkpoints" / which).read_text() for run in (one, other)]
        assert pointers[0] == pointers[1], which
        mine, theirs = tensors(one, which), tensors(other, which)
        assert any(name.startswith("optimizer.") for name in mine)
        assert same_tensors(mine, theirs), which
    assert metrics(one) == metrics(other)
    steps = [line["step"] for line in metrics(one) if "train/loss" in line]
    assert steps == sorted(set(steps))
