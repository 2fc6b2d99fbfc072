"""Where the weights of a run begin: fresh, or those of another run (fine-tuning, other data, longer training).

The other run is read as data: its weights and the numbers beside them, nothing that its files name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rate.config import RunConfig, differences
from rate.errors import CheckpointError
from rate.models import SequencePolicy
from rate.serial import to_dict
from rate.training.checkpoint import CARD, Checkpoint, load_checkpoint, load_weights, resolve_checkpoint
from rate.training.run_dir import RunDir


def read_start(path: str) -> Checkpoint | None:
    """The last checkpoint of a run, or a checkpoint on its own; None where nothing is named."""
    if not path:
        return None
    root = Path(path)
    return load_checkpoint(
        root if (root / CARD).exists() else resolve_checkpoint(RunDir.open(root).checkpoints, "last")
    )


def take_weights(policy: SequencePolicy[Any], start: Checkpoint | None, config: RunConfig) -> None:
    """Begin with the weights of another run, which must be of the same architecture."""
    if start is None:
        return
    try:
        load_weights(policy, start.weights, config.train.start_from)
    except CheckpointError as reason:
        raise CheckpointError(f"{reason}{_model_differs(start.config, config)}") from None


def _model_differs(stored: Any, config: RunConfig) -> str:
    there, here = (stored.get("model") if isinstance(stored, dict) else None), to_dict(config.model)
    names = [name for name in differences(there, here) if name != "type"] if isinstance(there, dict) else []
    return "".join(f"; its model.{name} is {there.get(name)}, here {here.get(name)}" for name in names[:3] if there)


def start_facts(start: Checkpoint | None, config: RunConfig) -> dict[str, Any]:
    """What meta.json says of it."""
    return {} if start is None else {"start_from": {"path": config.train.start_from, "step": start.step}}
