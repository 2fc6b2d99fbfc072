"""What runs were made of: every setting in which they differ, their data, and what of it evaluation meets again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rate.evaluation.familiar import in_words, share_familiar
from rate.reports.reading.runs import RunSummary
from rate.reports.tables.table import Table, format_number

MANY = 6
"""Of more runs than this the table shows which values there are, not which run has which."""
ABSENT = "not set"


def settings_table(runs: Sequence[RunSummary]) -> Table | None:
    """A row for each setting in which the runs differ; None where there is one run, or no difference."""
    flat = [_flat(run.config) for run in runs]
    names = sorted({name for one in flat for name in one})
    differing = [name for name in names if len({one.get(name, ABSENT) for one in flat}) > 1]
    if not differing:
        return None
    if len(runs) <= MANY:
        rows = tuple((name, *(one.get(name, ABSENT) for one in flat)) for name in differing)
        return Table(caption=CAPTION, header=("Setting", *(run.name for run in runs)), rows=rows)
    values = {name: dict.fromkeys(one.get(name, ABSENT) for one in flat) for name in differing}
    listed = tuple((name, _listed(list(found))) for name, found in values.items())
    return Table(caption=CAPTION, header=("Setting", "Values"), rows=listed)


CAPTION = "Every setting in which the runs differ"


def data_table(runs: Sequence[RunSummary]) -> Table | None:
    """The returns of the episodes that were trained on, a row for each data set; None where no run says them."""
    found: dict[tuple[float, ...], list[str]] = {}
    for run in runs:
        if run.data_returns is not None:
            found.setdefault(run.data_returns, []).append(run.name)
    rows = tuple((_named(names), *map(format_number, values)) for values, names in found.items())
    return (
        Table(caption="Return of the training data", header=("Runs", "Min", "Mean", "Max"), rows=rows) if rows else None
    )


HELD = ("Runs", "Training episodes", "Different ones", "Different first observations", "Evaluated that training held")


def familiar_table(runs: Sequence[RunSummary]) -> Table | None:
    """How many training episodes differ, and what evaluation shares with them; None where no run says it."""
    found: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        shares = in_words({case.case: share_familiar(case.records) for case in run.cases})
        if shares or run.distinct is not None:
            counts = ["unknown"] * 3 if run.distinct is None else [f"{count:,.0f}" for count in run.distinct]
            counts[2] += " (all begin alike)" if counts[2] == "1" else ""
            found.setdefault((*counts, shares or "unknown"), []).append(run.name)
    rows = tuple((_named(names), *facts) for facts, names in found.items())
    caption = "Training episodes that differ, and share of the evaluated first observations that training held"
    return Table(caption=caption, header=HELD, rows=rows) if rows else None


def _listed(values: Sequence[str]) -> str:
    few = ", ".join(values[:MANY])
    return few if len(values) <= MANY else f"{few} and {len(values) - MANY} more"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= MANY else f"{len(names)} runs"


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """{"model": {"type": ..., "width": 8}} -> {"model.width": "8"}"""
    if not isinstance(value, Mapping):
        return {prefix: value if isinstance(value, str) else json.dumps(value)}
    parts = (_flat(item, f"{prefix}.{name}" if prefix else str(name)) for name, item in value.items() if name != "type")
    return {name: text for part in parts for name, text in part.items()}
