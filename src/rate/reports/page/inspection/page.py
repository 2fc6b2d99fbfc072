"""What was seen in an episode of one or two runs as one HTML page that needs no other file and no network.

Text from files reaches the page as JSON alone, and the scripts put it there as text.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from rate.evaluation.inspected import Attention, Curve, Inspected, Knowledge, MemoryCourse
from rate.reports.page.inspection.frames import embed
from rate.reports.page.style import CSS
from rate.system.files import plain
from rate.types import Array

SCRIPTS = ("draw.js", "panels.js", "attention.js", "main.js")
DIGITS = 3
"""Of numbers on the page."""


@dataclass(frozen=True, kw_only=True)
class RunSeen:
    """One run on the page."""

    name: str
    about: str
    model: str
    seen: Inspected


def render_inspection(title: str, lead: str, runs: Sequence[RunSeen]) -> str:
    """The whole page."""
    values = json.dumps({"runs": [_run(run) for run in runs]}, separators=(",", ":"), allow_nan=False)
    parts = {
        "title": escape(plain(title)),
        "lead": escape(plain(lead)),
        "style": CSS + _asset("page.css"),
        "values": values.replace("<", "\\u003c"),  # no text can end the element that it stands in
        "script": "\n".join(_asset(name) for name in SCRIPTS),
    }
    page = _asset("page.html")
    before, *rest = page.split("{{")
    return before + "".join(parts[name] + text for name, _, text in (part.partition("}}") for part in rest))


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _run(run: RunSeen) -> dict[str, Any]:
    seen = run.seen
    return {
        "name": plain(run.name),
        "about": plain(run.about),
        "model": plain(run.model),
        "pictures": embed(seen.pictures),
        "told": embed(seen.told),
        "actions": seen.actions,
        "rewards": [_number(reward) for reward in seen.rewards],
        "success": seen.success,
        "fact": seen.fact,
        "probabilities": [[_rounded(part) for part in step] for step in seen.probabilities],
        "carries_memory": seen.carries_memory,
        "attention": _attention(seen.attention) if seen.attention else None,
        "memory": _memory(seen.memory) if seen.memory else None,
        "knowledge": _knowledge(seen.knowledge) if seen.knowledge else None,
    }


def _attention(seen: Attention) -> dict[str, Any]:
    """Weights as bytes, in the order of steps, layers, heads and slots; most are near 0 and pack well."""
    flat = np.concatenate([layer.ravel() for step in seen.weights for layer in step])
    packed = gzip.compress(np.rint(255 * np.clip(np.nan_to_num(flat), 0, 1)).astype(np.uint8).tobytes(), mtime=0)
    return {
        "heads": [len(layer) for layer in seen.weights[0]],
        "layers": seen.layers,
        "slots": seen.slots,
        "kinds": seen.kinds,
        "observed": seen.observed,
        "weights": base64.b64encode(packed).decode("ascii"),
    }


def _memory(seen: MemoryCourse) -> dict[str, Any]:
    return {name: _rounded(value) if isinstance(value, np.ndarray) else value for name, value in asdict(seen).items()}


def _knowledge(known: Knowledge) -> dict[str, Any]:
    return {**asdict(known), "chance": _number(known.chance), "curves": [_curve(curve) for curve in known.curves]}


def _curve(curve: Curve) -> dict[str, Any]:
    bounds = [[_number(x) for x in (at.value, at.low, at.high)] for at in curve.accuracy]
    return {"of": curve.of, "steps": curve.steps, "accuracy": bounds, "guesses": curve.guesses}


def _rounded(values: Array | Sequence[float]) -> Any:
    """Nested lists; what is not a number is null."""
    array = np.asarray(values, np.float64)
    known: Any = array.round(DIGITS).astype(object)
    known[~np.isfinite(array)] = None
    return known.tolist()


def _number(value: float) -> float | None:
    return round(value, DIGITS) if np.isfinite(value) else None
