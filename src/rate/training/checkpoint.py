"""Checkpoints: a directory of safetensors and JSON, complete or absent, never pickle.

A checkpoint is self-contained: weights, optimiser, random state, step, configuration and spaces.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from rate.data.spaces import spaces_from_json, spaces_to_json
from rate.errors import CheckpointError, DataError
from rate.files import read_json, write_atomically, write_json
from rate.training.run_dir import disk_error
from rate.types import Spaces

FORMAT, VERSION = "rate-checkpoint", 1
WEIGHTS, TRAINING, CARD = "weights.safetensors", "training.safetensors", "checkpoint.json"

MARKS = ("last", "best", "best-return")
"""The newest, the one of the lowest validation loss, and the one of the highest return while training."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A checkpoint in memory."""

    weights: dict[str, Tensor]
    training: dict[str, Tensor]
    """Optimiser, objective and random state, each under its own prefix; empty where it was not asked for."""
    step: int
    progress: dict[str, Any]
    """What the trainer remembers besides: best validation loss, patience."""
    config: Any
    spaces: Spaces


def save_checkpoint(root: Path, checkpoint: Checkpoint, *, marks: Collection[str] = ()) -> Path:
    """Write step_N, point `last` (and other `marks`) at it, and remove what none points at."""
    final = root / f"step_{checkpoint.step}"
    temporary = root / f".step_{checkpoint.step}.tmp"
    try:
        # The step that `last` names is the state that training is in; another one of this name may be damaged.
        if _pointer(root / "last") != final.name:
            _write(temporary, checkpoint)
            shutil.rmtree(final, ignore_errors=True)
            os.replace(temporary, final)
        # `last` is moved last: a run that is killed in between repeats the step and moves all.
        for name in (*marks, "last"):
            write_atomically(root / name, final.name + "\n")
        _prune(root)
    except OSError as reason:
        shutil.rmtree(temporary, ignore_errors=True)
        raise disk_error(final, reason) from None
    return final


def _write(path: Path, checkpoint: Checkpoint) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    files = {WEIGHTS: save(checkpoint.weights), TRAINING: save(checkpoint.training)}
    for name, content in files.items():
        write_atomically(path / name, content)
    write_json(path / CARD, _card(checkpoint, files))


def _card(checkpoint: Checkpoint, files: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "step": checkpoint.step,
        "progress": checkpoint.progress,
        "config": checkpoint.config,
        "spaces": spaces_to_json(checkpoint.spaces),
        "checksums": {name: zlib.crc32(content) for name, content in files.items()},
    }


def _prune(root: Path) -> None:
    kept = {_pointer(root / name) for name in MARKS}
    left_by_the_killed = list(root.glob(".step_*.tmp"))
    for path in [*root.glob("step_*"), *left_by_the_killed]:
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _pointer(path: Path) -> str | None:
    """The name that it holds; None where it is not there, or was cut to nothing."""
    return path.read_text(errors="replace").strip() or None if path.is_file() else None


def resolve_checkpoint(root: Path, name: str) -> Path:
    """The directory of a mark (`last`, `best`, `best-return`) or of `step_N` in a run's checkpoints."""
    target = _pointer(root / name) if name in MARKS else name
    if target is None or not (root / target).is_dir():
        there = ", ".join(sorted(folder.name for folder in root.glob("step_*"))) or "none"
        raise CheckpointError(f"there is no checkpoint {name!r} in {root}; there: {there}")
    return root / target


def load_checkpoint(path: Path, *, training: bool = False) -> Checkpoint:
    """Read a checkpoint, with what only `training` needs or without it; what cannot be read is told apart."""
    card = _read_card(path)
    try:
        spaces = spaces_from_json(card["spaces"])
        return Checkpoint(
            weights=_load(path / WEIGHTS, card),
            training=_load(path / TRAINING, card) if training else {},
            step=int(card["step"]),
            progress=dict(card["progress"]),
            config=card["config"],
            spaces=spaces,
        )
    except KeyError as reason:
        raise CheckpointError(f"{path / CARD} is damaged: {reason} is missing") from None
    except (TypeError, ValueError, DataError) as reason:
        raise CheckpointError(f"{path / CARD} is damaged: {reason}") from None


def _read_card(path: Path) -> dict[str, Any]:
    """The card of a checkpoint: damaged, foreign and other-version ones are told apart."""
    if not (path / CARD).is_file():
        raise CheckpointError(f"{path} is not a checkpoint of rate: it holds no {CARD}")
    card = read_json(path / CARD)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of rate")
    if card.get("version") != VERSION:
        raise CheckpointError(
            f"{path} is a checkpoint of version {card.get('version')}; this rate reads version {VERSION}"
        )
    return card


def _load(path: Path, card: Mapping[str, Any]) -> dict[str, Tensor]:
    try:
        content = path.read_bytes()
        if zlib.crc32(content) != card["checksums"][path.name]:
            raise CheckpointError(f"{path} is damaged (its checksum differs); use another checkpoint of the run")
        return load(content)  # not a map of the file: it is removed while the optimiser still uses the tensors
    except (OSError, SafetensorError) as reason:
        raise CheckpointError(f"{path} is damaged: {reason}") from None


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], where: Path | str) -> None:
    """Fill a module; weights of another architecture are refused by name."""
    own = module.state_dict()
    odd = sorted(set(own) ^ set(weights)) or sorted(name for name in own if own[name].shape != weights[name].shape)
    if odd:
        raise CheckpointError(f"{where} is of another architecture: it does not fit in {odd[0]!r}")
    for name, tensor in weights.items():
        if tensor.dtype != own[name].dtype:
            raise CheckpointError(f"{where} holds {name!r} as {tensor.dtype}; it must be {own[name].dtype}")
    bad = not_finite(weights)
    if bad is not None:
        raise CheckpointError(f"{where} holds {bad!r} with values that are not finite; use another checkpoint")
    module.load_state_dict(dict(weights))


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """The name of the first tensor that holds a value which is not finite."""
    bad = (name for name, value in tensors.items() if value.is_floating_point() and not value.isfinite().all())
    return next(bad, None)


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def without_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value) for index, slots in state.items() for name, value in slots.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
