"""What the terminal shows while long work runs: bars with rate and time left.

Bars go to standard error, results to standard output, so that a pipe holds results only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from rate.envs.spec import EvalCase
from rate.system.files import LONGEST_LINE, plain, shown

WIDE = 140
"""Columns of what goes to a file or a pipe, where nothing must be wrapped."""


class PlainConsole(Console):
    """A console that passes no control character of a text on: a name in a file must not drive the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(plain(text), **options)


OUT = PlainConsole(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDE)
ERR = PlainConsole(stderr=True, highlight=False)


def note(text: str) -> None:
    """What the user should know besides the result, in one line of standard error."""
    print(f"note: {shown(text, LONGEST_LINE)}", file=sys.stderr)


EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""
MEASURED = 1.0
"""Seconds of a task after which its speed is one."""


class RateColumn(ProgressColumn):
    """Units per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.1f}/s" if speed else "", style="progress.data.speed")


@contextmanager
def bar(what: str, total: int | None = None, shown: bool = True) -> Iterator[Bar]:
    """A bar that is gone when the work is done; of several processes one shows it."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    # Where there is no terminal, even a bar that is gone would leave an empty line: now and then there is a line.
    hidden = not (ERR.is_terminal and shown)
    with Progress(*columns, console=ERR, transient=True, refresh_per_second=4, disable=hidden) as progress:
        yield Bar(progress, what, total, plain=hidden)


class Bar:
    """One line of progress that follows the work from task to task."""

    def __init__(self, progress: Progress, what: str, total: int | None, plain: bool = False) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._shown = ""
        """The task that is at work; none has begun."""
        self._task = progress.add_task(what, total=total, note="")
        self._plain, self._began, self._first, self._said = plain, time.monotonic(), 0, time.monotonic()
        self.moved = False
        """Whether a training step was made."""
        self._returned = ""
        self.summary = ""
        """The newest validation, for the line that is left when the bar is gone."""

    def to(self, done: int, total: int | None = None, what: str | None = None, note: str = "") -> None:
        what = None if what is None else shown(what)
        if what is not None and what != self._shown:
            self._shown = what  # another task has a rate and a time of its own, from where it starts
            self._progress.reset(self._task, description=what, total=total, completed=max(0, done - 1))
            self._began, self._first = time.monotonic(), max(0, done - 1)
        if self._plain and time.monotonic() - self._said >= EVERY:
            self._say(done, total, note)
        self._progress.update(self._task, completed=done, total=total, note=note)

    def _say(self, done: int, total: int | None, note: str) -> None:
        """Where the work is, in one line: for logs and pipes."""
        self._said = now = time.monotonic()
        taken = now - self._began
        speed = (done - self._first) / taken if taken >= MEASURED else 0.0
        of = f"/{total}" if total else ""
        left = f", {round((total - done) / speed)} s left" if total and speed else ""
        parts = (f"{self._shown or self._what} {done}{of}", f"{speed:.1f}/s{left}" if speed else "", note)
        print(", ".join(part for part in parts if part), file=sys.stderr, flush=True)

    def on_episode(self, done: int, total: int) -> None:
        self.to(done, total, "collecting")

    def on_step(self, step: int, metrics: Mapping[str, float]) -> None:
        self.moved = True
        if "valid/loss" in metrics:
            self.summary = f", validation loss {metrics['valid/loss']:.4g}"
        returns = [value for name, value in metrics.items() if name.endswith("/return_mean")]
        if returns:
            self._returned = f", return {sum(returns) / len(returns):.4g}"
        self.to(step, self._total, self._what, f"loss {metrics['train/loss']:.4f}{self.summary}{self._returned}")

    def on_env_step(self, case: EvalCase, step: int) -> None:
        # Redrawing at each of a million steps would cost more than the steps.
        if step % 64 == 0 or step == case.max_steps:
            self.to(step, case.max_steps, f"evaluating {case.name}")
