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
from types import FrameType
from typing import Any, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class _Report:
    value: Any


@dataclass(frozen=True)
class _Result:
    value: Any


_parent: Connection | None = None
"""In a worker: the way to the process that started it."""


def in_processes(
    work: Callable[[T], R],
    tasks: Sequence[T],
    *,
    jobs: int,
    threads: int,
    on_start: Callable[[T], None] = lambda _: None,
    on_report: Callable[[Any], None] = lambda _: None,
    on_end: Callable[[T, R], None],
    lost: Callable[[T, int | None], R],
    set_up: Callable[[], None],
) -> None:
    """Do every task in a process of its own, `jobs` at a time; `lost` is the result of a process that gave none.

    What a task says with `report` goes to `on_report`; each process calls `set_up` first.
    """
    waiting = list(reversed(tasks))
    active: dict[Connection, tuple[T, SpawnProcess]] = {}
    threads = threads or max(1, torch.get_num_threads() // jobs)
    with _both_interrupt():
        try:
            while waiting or active:
                while waiting and len(active) < jobs:
                    task = waiting.pop()
                    on_start(task)
                    with _deferred_interrupt():  # so that no process is started and forgotten
                        connection, process = _start(work, task, threads, set_up)
                        active[connection] = task, process
                for ready in wait(list(active)):
                    assert isinstance(ready, Connection)
                    task, process = active[ready]
                    message = _received(ready)
                    if isinstance(message, _Report):
                        on_report(message.value)
                        continue
                    del active[ready]
                    ready.close()
                    process.join()
                    on_end(task, lost(task, process.exitcode) if message is None else message.value)
        except BaseException:
            _stop([process for _, process in active.values()])
            raise


def _start(
    work: Callable[[T], R], task: T, threads: int, set_up: Callable[[], None]
) -> tuple[Connection, SpawnProcess]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_worker, args=(work, task, threads, theirs, set_up))
    process.start()
    theirs.close()  # else the end of the process would not be seen
    return mine, process


def _worker(work: Callable[[T], R], task: T, threads: int, answer: Connection, set_up: Callable[[], None]) -> None:
    global _parent
    _parent = answer
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # the parent passes Ctrl-C on, once; a second signal would leave without saving
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    set_up()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        answer.send(_Result(work(task)))


def _end_with_parent() -> None:
    """A parent that was killed cannot ask its workers to stop."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def report(value: Any) -> None:
    """Send word to the process that started this worker of how far its task is."""
    assert _parent is not None, "this process is no worker"
    _parent.send(_Report(value))


def _received(answer: Connection) -> _Report | _Result | None:
    """The next that a worker says; None if it has ended."""
    try:
        message: _Report | _Result = answer.recv()
    except (EOFError, ConnectionResetError):
        return None
    return message


def _stop(processes: Sequence[SpawnProcess]) -> None:
    """Ask all to save and leave; after a second interrupt none is waited for."""
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
    """SIGTERM is as Ctrl-C while workers run, else they would be left behind; a shell's background job gets both."""

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
