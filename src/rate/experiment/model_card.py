"""The model card: README.md of a run, written with every checkpoint and every evaluation.

Texts of a configuration or a log may be anybody's: they stand in tables, as code, without what would end either.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rate.config import RunConfig, config_from_json
from rate.errors import RateError
from rate.system.files import read_bytes, read_json, shown, write_atomically
from rate.training.checkpoint import CARD, MARKS, resolve_checkpoint
from rate.training.run_dir import RunDir

OURS = "<!-- Written by rate with every checkpoint; a card without this line is left alone. -->"
LARGEST = 1 << 20
"""Bytes of a card that is looked at."""
ROWS = 50
"""Evaluations that are shown, the newest."""
FRONT = """---
library_name: rate
pipeline_tag: reinforcement-learning
tags: [reinforcement-learning, offline-rl, memory, rate]
---
"""
USE = """## How to use it

```python
import rate

run = rate.load("PATH OF THIS DIRECTORY")  # nothing that it names is imported; nothing is unpickled
actor = run.actor()                        # action = actor.act(observation); actor.observe(reward)
```

`rate eval RUN` evaluates it and `rate train --out RUN --resume` trains it on; an environment that is code is named
again with `--env`. Figures here are what its author measured: evaluate it yourself if they matter.
"""


def write_card(run: RunDir, parameters: int) -> None:
    """Write the card of a run, unless somebody has written one of their own.

    The card repeats what other files say: a disk that refuses it, or a file that cannot be read, stops nothing.
    """
    path = run.path / "README.md"
    with contextlib.suppress(OSError, RateError, ValueError):
        if path.exists() and OURS not in read_bytes(path, LARGEST).decode(errors="replace"):
            return
        write_atomically(path, model_card(run, parameters), sync=False)


def model_card(run: RunDir, parameters: int) -> str:
    """The text of the card, from the files of the run."""
    config = config_from_json(run.read_config(), run.config)
    checkpoint = _described(resolve_checkpoint(run.checkpoints, "last") / CARD)
    meta = _described(run.meta) if run.meta.exists() else {}
    results = [row for line in run.read_evaluations()[-ROWS:] if (row := _result(line))]
    parts = (
        f"{FRONT}\n{OURS}\n\n# A policy trained offline with rate",
        facts(_what(config, checkpoint, parameters)),
        f"## Data\n\n{facts(_data(config, meta))}",
        f"## Results so far\n\n{_results(checkpoint, results, run.checkpoints)}",
        USE,
    )
    return "\n\n".join(parts)


def _what(config: RunConfig, checkpoint: Mapping[str, Any], parameters: int) -> list[tuple[str, object]]:
    model = config.model
    sizes = ("layers", "width", "heads", "context", "segment_len", "memory_tokens", "cache_tokens", "valve")
    known = ", ".join(f"{name}={getattr(model, name)}" for name in sizes if hasattr(model, name))
    spaces = checkpoint.get("spaces", {})
    return [
        ("model", model.name),
        ("environment", config.env.name or "none: judged on held-out actions"),
        ("observations", _space(spaces.get("observation"))),
        ("actions", _space(spaces.get("action"))),
        ("sizes", known),
        ("parameters", parameters),
        ("window of training", config.train.window),
        ("objective", config.objective.name),
        ("seed", config.seed),
        ("optimiser steps", f"{checkpoint.get('step')} of {config.train.steps}"),
    ]


def _described(path: Path) -> dict[str, Any]:
    """What a file describes; nothing where it is no description."""
    found = read_json(path)
    return found if isinstance(found, dict) else {}


def _space(stored: Any) -> str:
    """A stored space in a few words; large bounds are left out."""
    if not isinstance(stored, dict):
        return "unknown"
    return ", ".join(f"{name}={value}" for name, value in stored.items() if len(str(value)) < 60)


def _data(config: RunConfig, meta: Mapping[str, Any]) -> list[tuple[str, object]]:
    own = Path(config.data.path).name if config.data.path else ""
    made = f"{config.data.episodes} episodes of the environment's expert"
    rows: list[tuple[str, object]] = [("source", own or made), ("options", " ".join(config.data.options) or "none")]
    rows += [("digest", meta.get("data", "unknown")), ("returns", meta.get("data_returns", "unknown"))]
    return rows


def _results(checkpoint: Mapping[str, Any], rows: list[tuple[object, ...]], marks: Path) -> str:
    progress = checkpoint.get("progress") or {}
    kept = ", ".join(name for name in MARKS if (marks / name).is_file())
    known = facts([("lowest validation loss", progress.get("best_loss")), ("checkpoints", kept)])
    if not rows:
        return f"{known}\n\nNot evaluated yet: `rate eval RUN`."
    return f"{known}\n\n{table(('case', 'checkpoint', 'step', 'episodes', 'success rate [95 %]', 'mean return'), rows)}"


def _result(line: Mapping[str, Any]) -> tuple[object, ...] | None:
    """A row of the table; None where an older or a foreign line does not tell its result."""
    returned, success = line.get("return_mean"), line.get("success_rate")
    if line.get("intervention") or not isinstance(returned, (int, float)):
        return None
    told = [success.get(name) for name in ("value", "low", "high")] if isinstance(success, dict) else []
    bounds = [f"{value:.2f}" for value in told if isinstance(value, (int, float))]
    rate = f"{bounds[0]} [{bounds[1]}, {bounds[2]}]" if len(bounds) == 3 else "-"
    return (*(line.get(name) for name in ("case", "checkpoint", "step", "episodes")), rate, f"{returned:.3f}")


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """A table of names, which are ours, and values, which may be anybody's."""
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {code(value)} |" for name, value in rows)])


def table(heads: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of Markdown whose cells hold nothing but code."""
    lines = [heads, ("---",) * len(heads), *(map(code, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(value: object) -> str:
    """A text as inline code of one cell: one line, cut, and without the marks that end code or cell."""
    text = shown(value).replace("`", "'").replace("\\", "/").replace("|", "/").strip()
    return f"`{text}`" if text else ""
