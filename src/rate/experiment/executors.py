"""Where and when many pieces of work are done: one after the other in this process, or several at a time in others.

Anything with a `run` of the same form will do, such as what hands the work to other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch

from rate.plugins import importer
from rate.system.workers import in_processes

T = TypeVar("T")
R = TypeVar("R")


def never(result: Any) -> bool:
    """No result says that its task is taken."""
    return False


@dataclass(frozen=True, kw_only=True)
class Work(Generic[T, R]):
    """Tasks, and what is done with each; tasks, results and `do` can be pickled."""

    tasks: Sequence[T]
    do: Callable[[T], R]
    """It does not raise: what goes wrong is a result."""
    on_start: Callable[[T], None]
    on_end: Callable[[T, R], None]
    lost: Callable[[T, int | None], R]
    """The result of a task whose process ended, with this code, before it gave one."""
    busy: Callable[[R], bool] = never
    """Whether a result says that the task is taken: where an attempt was lost, that one may still be ending."""
    on_again: Callable[[T], None] = lambda _: None
    """A task is begun again, since its process or machine was lost."""


class Executor(Protocol):
    """Does all of the work: one `on_start` and one `on_end` for each task, both in the process that calls `run`."""

    def run(self, work: Work[Any, Any]) -> None: ...


@dataclass(frozen=True, kw_only=True)
class InProcess:
    """One task after the other, here."""

    threads: int = 0
    """Of torch; 0: as they are."""

    def run(self, work: Work[Any, Any]) -> None:
        if self.threads:
            torch.set_num_threads(self.threads)
        for task in work.tasks:
            work.on_start(task)
            work.on_end(task, work.do(task))


@dataclass(frozen=True, kw_only=True)
class Processes:
    """A process of its own for each task, some at a time."""

    jobs: int
    threads: int = 0
    """Of torch, in each; 0: the number here, divided by the jobs."""

    def run(self, work: Work[Any, Any]) -> None:
        in_processes(
            work.do,
            work.tasks,
            jobs=self.jobs,
            threads=self.threads,
            on_start=work.on_start,
            on_end=work.on_end,
            lost=work.lost,
            set_up=importer(),
        )
