"""How the runs of a suite stand: a line for each that starts or ends and, on a terminal, a table that lives below them.

How far a run is, is read from its directory: so it does not matter on which machine it is made.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.live import Live
from rich.table import Table

from rate.cli.console import ERR
from rate.config import RunConfig
from rate.experiment import Outcome
from rate.reports.tables.table import format_seconds
from rate.training.run_dir import RunDir

TAIL = 4096
"""Bytes of the end of a file of metrics that hold its last line."""


class Teller:
    """One line of standard error for each run that starts or ends."""

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self.ended = self.made = 0
        self.began: float | None = None

    def start(self, name: str) -> None:
        if self.began is None:
            self.began = time.monotonic()
            if self.ended:
                self._say(f"{self.ended} of {self.runs} runs need nothing more")
        self._say(f"{name}: started")

    def again(self, name: str) -> None:
        self._say(f"{name}: its process or machine was lost; begun again, from its last checkpoint")

    def end(self, outcome: Outcome) -> None:
        self.ended += 1
        self.made += bool(outcome.seconds)
        if outcome.state == "locked":
            self._say(f"{outcome.name}: skipped, {outcome.message}{self._left()}")
        elif outcome.state == "failed":
            self._say(f"{outcome.name}: failed, {outcome.message}{self._left()}")
        elif outcome.seconds:
            self._say(f"{outcome.name}: done in {format_seconds(outcome.seconds)}{self._left()}")

    def _left(self) -> str:
        left = self.runs - self.ended
        if not left or not self.made or self.began is None:
            return ""
        return f"; {left} to go, about {format_seconds((time.monotonic() - self.began) / self.made * left)}"

    def _say(self, text: str) -> None:
        print(f"[{self.ended}/{self.runs}] {text}", file=sys.stderr, flush=True)


class Board(Teller):
    """Tells, and keeps the state of every run."""

    def __init__(self, configs: Mapping[str, RunConfig], place: Path) -> None:
        super().__init__(len(configs))
        self.configs, self.place = configs, place
        self.states = dict.fromkeys(configs, "waiting")

    def start(self, name: str) -> None:
        self.states[name] = "running"
        super().start(name)

    def again(self, name: str) -> None:
        self.states[name] = "running again"
        super().again(name)

    def end(self, outcome: Outcome) -> None:
        self.states[outcome.name] = outcome.state
        super().end(outcome)

    def __rich__(self) -> Table:
        """The runs that are at work or have failed, and how many are in which state."""
        counts = Counter(state.split()[0] for state in self.states.values())
        table = Table("run", "state", "step", "loss", title=", ".join(f"{n} {state}" for state, n in counts.items()))
        for name, state in self.states.items():
            if state not in ("waiting", "done"):
                step, loss = last_step(self.place / name)
                table.add_row(name, state, f"{step} of {self.configs[name].train.steps}", loss)
        return table


def last_step(run: Path) -> tuple[int, str]:
    """The last step that was logged, with its loss."""
    try:
        with open(RunDir(run).metrics, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            lines = [json.loads(line) for line in file.read().splitlines()[1:]]
        found = [line for line in lines if "train/loss" in line]
        return int(found[-1]["step"]), f"{float(found[-1]['train/loss']):.4f}"
    except (OSError, ValueError, LookupError, TypeError):  # none yet, or half a line
        return 0, ""


@contextmanager
def board(configs: Mapping[str, RunConfig], place: Path) -> Iterator[Board]:
    """Of these runs; the table is shown where there is a terminal."""
    states = Board(configs, place)
    if not ERR.is_terminal:
        yield states
        return
    with Live(states, console=ERR, refresh_per_second=1, transient=True):
        yield states
