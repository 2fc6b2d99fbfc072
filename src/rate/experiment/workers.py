"""Worker processes: one task each, some at a time; to stop them is to let them save.

Processes are spawned, so that each has threads and random state of its own; signals of the terminal pass them by.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import TypeVar

import torch

from rate.config import RunConfig

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Task:
    """One run that is to be made."""

    name: str
    config: RunConfig
    path: Path
    command: list[str] | None


def in_processes(
    work: Callable[[Task], R],
    tasks: Sequence[Task],
    *,
    jobs: int,
    threads: int,
    on_start: Callable[[Task], None],
    on_end: Callable[[Task, R], None],
    lost: Callable[[Task, int | None], R],
) -> None:
    """Do every task in a process of its own, `jobs` at a time; `lost` is the result of a process that gave none."""
    waiting = list(reversed(tasks))
    active: dict[Connection, tuple[Task, SpawnProcess]] = {}
    threads = threads or max(1, torch.get_num_threads() // jobs)
    with _both_interrupt():
        try:
            while waiting or active:
                while waiting and len(active) < jobs:
                    task = waiting.pop()
                    on_start(task)
                    with _deferred_interrupt():  # so that no process is started and forgotten
                        connection, process = _start(work, task, threads)
                        active[connection] = task, process
                for ready in wait(list(active)):
                    assert isinstance(ready, Connection)
                    task, process = active.pop(ready)
                    on_end(task, _result(ready, task, process, lost))
        except BaseException:
            _stop([process for _, process in active.values()])
            raise


def _start(work: Callable[[Task], R], task: Task, threads: int) -> tuple[Connection, SpawnProcess]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_worker, args=(work, task, threads, theirs))
    process.start()
    theirs.close()  # else the end of the process would not be seen
    return mine, process


def _worker(work: Callable[[Task], R], task: Task, threads: int, answer: Connection) -> None:
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # the parent passes Ctrl-C on, once; a second signal would leave without saving
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        answer.send(work(task))


def _end_with_parent() -> None:
    """A parent that was killed cannot ask its workers to stop."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _result(answer: Connection, task: Task, process: SpawnProcess, lost: Callable[[Task, int | None], R]) -> R:
    try:
        result: R = answer.recv()
    except EOFError:
        process.join()
        return lost(task, process.exitcode)
    finally:
        answer.close()
    process.join()
    return result


def _stop(processes: Sequence[SpawnProcess]) -> None:
    """Ask all to save and leave; a second interrupt leaves nobody waiting."""
    try:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
    except KeyboardInterrupt:
        for process in processes:
            process.kill()


@contextlib.contextmanager
def _deferred_interrupt() -> Iterator[None]:
    """Ctrl-C waits until the end, where the system can; a process that is started inside never sees it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _both_interrupt() -> Iterator[None]:
    """SIGTERM is as Ctrl-C while workers run, else they would be left behind; a shell's background job hears both."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
