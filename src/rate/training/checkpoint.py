"""Checkpoints: a directory of safetensors and JSON, complete or absent, never pickle.

A checkpoint is self-contained: weights, optimiser, random state, step, configuration and spaces.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from rate.data.space_json import spaces_from_json, spaces_to_json
from rate.errors import CheckpointError
from rate.system.files import check_own, read_bytes, read_json, reading, remove, shown, write_atomically, write_json
from rate.training.run_dir import disk_error
from rate.types import Spaces

FORMAT, VERSION = "rate-checkpoint", 2
UNSEALED = 1
"""The version whose cards and marks have no checksum."""
WEIGHTS, TRAINING, CARD = "weights.safetensors", "training.safetensors", "checkpoint.json"
LONGEST_MARK = 100
MARK = re.compile(r"(step_\d+)(?: ([0-9a-f]{8}))?\n?")
"""The name of a checkpoint and its checksum, which older marks do not have."""

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
    check_own(root, root.parent)
    try:
        # The step that `last` names is the state that training is in; another one of this name may be damaged.
        if _mark(root / "last") != final.name:
            _write(temporary, checkpoint)
            remove(final)
            os.replace(temporary, final)
        # `last` is moved last: a run that is killed in between repeats the step and moves all.
        for name in (*marks, "last"):
            write_atomically(root / name, f"{final.name} {_checksum(final.name.encode())}\n")
        _prune(root)
    except OSError as reason:
        remove(temporary)
        raise disk_error(final, reason) from None
    return final


def _write(path: Path, checkpoint: Checkpoint) -> None:
    remove(path)
    path.mkdir(parents=True)
    files = {WEIGHTS: save(checkpoint.weights), TRAINING: save(checkpoint.training)}
    for name, content in files.items():
        write_atomically(path / name, content)
    write_json(path / CARD, _card(checkpoint, files))


def _card(checkpoint: Checkpoint, files: Mapping[str, bytes]) -> dict[str, Any]:
    card = {
        "format": FORMAT,
        "version": VERSION,
        "step": checkpoint.step,
        "progress": checkpoint.progress,
        "config": checkpoint.config,
        "spaces": spaces_to_json(checkpoint.spaces),
        "checksums": {name: zlib.crc32(content) for name, content in files.items()},
    }
    return sealed(card)


def sealed(card: Mapping[str, Any]) -> dict[str, Any]:
    """The card with a checksum over all the rest of it."""
    rest = {name: value for name, value in card.items() if name != "checksum"}
    return {**rest, "checksum": _checksum(json.dumps(rest, sort_keys=True).encode())}


def _checksum(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"


def _prune(root: Path) -> None:
    kept = {_mark(root / name) for name in MARKS}
    left_by_the_killed = list(root.glob(".step_*.tmp"))
    for path in [*root.glob("step_*"), *left_by_the_killed]:
        if path.name not in kept:
            remove(path)


def _mark(path: Path) -> str | None:
    """The name of the checkpoint that a mark holds; None where there is none, or only a damaged one."""
    if not path.is_file() or path.stat().st_size > LONGEST_MARK:
        return None
    found = MARK.fullmatch(read_bytes(path).decode(errors="replace"))
    return found[1] if found and found[2] in (None, _checksum(found[1].encode())) else None


def resolve_checkpoint(root: Path, name: str) -> Path:
    """The directory of a mark (`last`, `best`, `best-return`) or of `step_N` in a run's checkpoints."""
    if not isinstance(name, str):
        raise CheckpointError(f"the checkpoint is {name!r}; it must be one of {', '.join(MARKS)}, or step_N")
    with reading(root / name):
        target = _mark(root / name) if name in MARKS else name
    if target is None or not re.fullmatch(r"step_\d+", target) or not (root / target).is_dir():
        damaged = " (its mark is damaged)" if target is None and name in MARKS and (root / name).exists() else ""
        there = ", ".join(sorted(folder.name for folder in root.glob("step_*"))) or "none"
        raise CheckpointError(f"there is no checkpoint {shown(name)!r}{damaged} in {root}; there: {shown(there)}")
    return root / target


def load_checkpoint(path: Path, *, training: bool = False) -> Checkpoint:
    """Read a checkpoint, with what only `training` needs or without it; what cannot be read is told apart."""
    card = _read_card(path)
    with reading(path / CARD):
        step, progress = card["step"], card["progress"]
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 2**63:
            raise ValueError(f"the step is {shown(step, 40)}")
        if not isinstance(progress, dict):
            raise ValueError("progress must be an object")
        return Checkpoint(
            weights=_load(path / WEIGHTS, card),
            training=_load(path / TRAINING, card) if training else {},
            step=step,
            progress=progress,
            config=card["config"],
            spaces=spaces_from_json(card["spaces"]),
        )


def _read_card(path: Path) -> dict[str, Any]:
    """The card of a checkpoint: damaged, foreign and other-version ones are told apart."""
    if not (path / CARD).exists():
        raise CheckpointError(f"{path} is not a checkpoint of rate: it holds no {CARD}")
    card = read_json(path / CARD)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of rate")
    version = card.get("version")
    if version not in (UNSEALED, VERSION):
        raise CheckpointError(f"{path} is a checkpoint of version {shown(version)}; this rate reads version {VERSION}")
    with reading(path / CARD):
        if version != UNSEALED and sealed(card)["checksum"] != card.get("checksum"):
            raise CheckpointError(
                f"{path / CARD} is damaged or was edited (its checksum differs); use another checkpoint"
            )
    return card


def _load(path: Path, card: Mapping[str, Any]) -> dict[str, Tensor]:
    with reading(path):
        content = read_bytes(path)
        if zlib.crc32(content) != card["checksums"][path.name]:
            raise CheckpointError(f"{path} is damaged (its checksum differs); use another checkpoint of the run")
        return load(content)  # not a map of the file: it is removed while the optimiser still uses the tensors


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
    """Fill an optimiser; what does not fit its parameters would only fail, or be left out, in the next step."""
    owned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        if not 0 <= int(index) < len(owned) or value.shape not in ((), owned[int(index)].shape):
            raise CheckpointError(f"the state of the optimiser does not fit the policy in {shown(key)!r}")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
