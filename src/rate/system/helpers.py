"""Helper processes: Python functions that serve this process over a connection, and never outlive it.

Unlike the workers of `workers.py` they take no task to its end: they answer until they are closed. They are started
afresh, not forked and not by `multiprocessing`, so that a script needs no guard and nothing that it holds is copied.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

PATIENCE = 5.0
"""Seconds that a helper has to close what it holds."""
OFTEN = 0.5
"""Seconds after which a helper looks again whether its parent lives, should it be too busy to hear it."""

BOOT = "from rate.system.helpers import run; run()"


class Helper:
    """A process that calls a function of a module with its end of `connection`; the message None asks it to return."""

    def __init__(self, module: str, function: str, files: Sequence[int] = ()) -> None:
        self.connection, theirs = Pipe()
        paths = [str(Path(path).absolute()) for path in sys.path]  # '' is the directory that one is in
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", BOOT, module, function, str(theirs.fileno()), str(os.getpid())],
                pass_fds=(theirs.fileno(), *files),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C of a terminal is for the parent, which closes its helpers
            )
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()  # else the end of the process would not be seen

    @property
    def pid(self) -> int:
        return self._process.pid

    def hang_up(self) -> None:
        """Ask it to leave."""
        with contextlib.suppress(OSError):
            self.connection.send(None)

    def close(self, patience: float = PATIENCE) -> int:
        """Wait until it has left, and end it and whatever it has started; its exit code.

        Its group is ended before it is reaped: until then nobody else can have that number.
        """
        if not self.connection.closed:
            self.hang_up()
            self._wait(patience)
            self.connection.close()
        if self._process.returncode is None and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return self._process.wait()

    def _wait(self, patience: float) -> None:
        """Pass over what it still says, until it has closed its end."""
        until = time.monotonic() + patience
        with contextlib.suppress(EOFError, OSError):
            while self.connection.poll(max(0.0, until - time.monotonic())):
                self.connection.recv_bytes()


def run() -> None:
    """In a helper: call the function with the way to the parent, then end with all that it has started."""
    module, function, handle, parent = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    with contextlib.suppress(EOFError, ConnectionError):  # the parent is gone
        getattr(importlib.import_module(module), function)(Connection(int(handle)))
    _end_group()


def _end_with(parent: int) -> None:
    """A parent that was killed closes the connection; this ends a helper that is too busy to notice."""
    while os.getppid() == parent:
        time.sleep(OFTEN)
    time.sleep(PATIENCE)
    _end_group()


def _end_group() -> None:
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
