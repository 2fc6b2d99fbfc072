"""Write an export: graphs, first values, the runner and, last, the card with the checksums of the others."""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rate.data.place import made_aside
from rate.errors import ConfigError, MissingExtraError
from rate.experiment.run import Run
from rate.export import context, recurrent, segment  # noqa: F401  (they register their forms)
from rate.export.card import checksum, make_card
from rate.export.form import form_of
from rate.export.graph import to_onnx
from rate.export.program import Asked, Program, example, to_array
from rate.models.policy import SequencePolicy
from rate.system.files import as_path, shown, write_atomically, write_json

LARGEST = 1e-4
"""Difference beyond which nothing is written; float32 leaves less than a tenth of it."""
MOST_STEPS = 400
"""Steps over which it is looked for, unless a segment is longer."""


def export_run(run: Run, out: Path | str, target_return: float | None = None) -> dict[str, Any]:
    """Export the policy of a run; it asks for the return that the run is evaluated with. Returns the card."""
    config, told = run.config, run.policy.tokens.returns is not None
    if target_return is None and not told:
        target_return = 0.0
    if target_return is None and config.eval.target_return is None and not config.env.name:
        raise ConfigError("this run names no return to ask for; give --target-return (in Python: target_return=...)")
    actor = run.actor(target_return, sample=False)
    asked = Asked(target_return=actor.target_return, return_scale=actor.return_scale, prompt=config.eval.prompt)
    about = {"model": config.model.name, "environment": config.env.name, "checkpoint": run.checkpoint, "step": run.step}
    return export_policy(run.policy, out, asked, about)


def export_policy(
    policy: SequencePolicy[Any], out: Path | str, asked: Asked, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Export a policy to a directory, which is made; the card, which also tells how far the export is from `step`."""
    place = as_path(out, "out")
    check_extra()
    if place.is_symlink() or (place.exists() and not (place.is_dir() and not any(place.iterdir()))):
        raise ConfigError(f"{shown(place)} is there already; choose another directory or delete it")
    form = form_of(policy)
    program = Program(policy.cpu().eval(), form, asked)
    with torch.inference_mode(False), torch.no_grad():
        files, card = _made(program, about or {})
    with made_aside(place) as folder:
        folder.mkdir()
        for name, content in files.items():
            write_atomically(folder / name, content)
        write_json(folder / "card.json", card)
        card["checked"] = _checked(program, folder)
        write_json(folder / "card.json", card)
    return card


def _made(program: Program, about: Mapping[str, Any]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files, and the card."""
    given = {name: value for name, value in example(program.start).items() if name not in ("prediction", "action")}
    files = {"step.onnx": to_onnx(program.policy, program.step, given)}
    if program.form.segment is not None:
        files["border.onnx"] = to_onnx(program.policy, program.border, given)
    start = {name: to_array(value) for name, value in program.start.items()}
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **start)
    files |= {"start.npz": packed.getvalue(), "runner.py": Path(__file__).with_name("runner.py").read_bytes()}
    card = make_card(program, start, list(program.step(given)), about)
    return files, {**card, "checksums": {name: checksum(content) for name, content in files.items()}}


def _checked(program: Program, folder: Path) -> dict[str, Any]:
    """Hold what was written to `step`, over two borders or windows."""
    from rate.export.check import largest_difference

    length = program.form.segment or program.policy.context or 4
    steps = max(length + 2, min(2 * length + 2, MOST_STEPS))
    found = largest_difference(program.policy, folder, program.asked, steps, batch=2)
    if not found <= LARGEST:  # written so that nan fails it
        name = type(program.policy).__name__
        raise ConfigError(f"the graphs of {name} differ from its step by {found:.2g}; nothing was written")
    return {"steps": steps, "largest_difference": found}


def check_extra() -> None:
    """One line if a package is not there."""
    for package in ("onnx", "onnxruntime"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "export")
