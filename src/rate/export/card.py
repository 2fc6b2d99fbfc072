"""The card of an export: all that a runner must know which the graphs do not say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from rate.data.space_json import spaces_to_json
from rate.export.operators import OPSET
from rate.export.program import NEXT, Program, kind_of
from rate.system.device import versions
from rate.types import Array

FORMAT = "rate-export"
VERSION = 1


def make_card(
    program: Program, start: Mapping[str, Array], changed: list[str], about: Mapping[str, Any]
) -> dict[str, Any]:
    """`changed` are the outputs of a step, `about` tells where the policy is from."""
    asked, form = program.asked, program.form
    carried = [name.removeprefix(NEXT) for name in changed if name.startswith(NEXT)]
    states = [*carried, *(name for name in form.start() if name not in carried)]
    return {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions(),
        "opset": OPSET,
        **about,
        "graphs": ["step.onnx"] if form.segment is None else ["step.onnx", "border.onnx"],
        "segment": form.segment,
        "spaces": spaces_to_json(program.policy.spaces),
        "leaves": [
            {"name": name, "keys": list(path), "shape": list(leaf.shape or ()), "dtype": str(kind_of(leaf))}
            for name, (path, leaf) in program.leaves.items()
        ],
        "target_return": asked.target_return,
        "return_scale": asked.return_scale,
        "prompt": asked.prompt,
        "states": [_state(name, start[name], name in form.in_place) for name in states],
        "swapped": [name for name in carried if name not in form.in_place],
    }


def _state(name: str, first: Array, in_place: bool) -> dict[str, Any]:
    """The shape is that of one episode; the first value is in start.npz."""
    return {"name": name, "shape": list(first.shape[1:]), "dtype": str(first.dtype), "in_place": in_place}


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
