"""How the figures of `rate bench` are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Column, Table


def tables(figures: dict[str, Any]) -> Iterator[Table]:
    """For each number of threads: what was compared, and every model."""
    for key, part in figures.items():
        if key.startswith("threads-"):
            threads = f"{key.removeprefix('threads-')} thread(s)"
            yield _table(threads, {name: value for name, value in part.items() if not name.startswith(tuple(LISTS))})
            for prefix, title in LISTS.items():
                rows = {name.removeprefix(prefix): row for name, row in part.items() if name.startswith(prefix)}
                if rows:
                    yield _models(f"{title}, {threads}", rows)


LISTS = {
    "model ": "every model at the size of its T-Maze recipe",
    "export ": "a step of the PyTorch actor and of the exported policy, one environment",
}
"""What is shown as a table of its own, a row for each model: how its figures begin, and its title."""


def _models(title: str, rows: dict[str, dict[str, float]]) -> Table:
    """A row for each model."""
    columns = list(next(iter(rows.values()), {}))
    table = Table("model", *(Column(name.replace("_", " "), justify="right") for name in columns), title=title)
    for name, row in rows.items():
        table.add_row(name, *(_shown(row[column]) for column in columns))
    return table


def _table(title: str, part: dict[str, Any]) -> Table:
    table = Table("figure", "value", title=title)
    for name, value in part.items():
        for row, number in _rows(name, value):
            table.add_row(row, _shown(number))
    return table


def _shown(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _rows(name: str, value: Any) -> list[tuple[str, float | None]]:
    if isinstance(value, dict):
        return [row for key, inner in value.items() for row in _rows(f"{name} {key}", inner)]
    return [(name.replace("_", " "), None if value is None else float(value))]
