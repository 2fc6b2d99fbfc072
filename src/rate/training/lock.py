"""One process at a time trains in a run directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rate.errors import CheckpointError
from rate.lock import held
from rate.training.run_dir import disk_error


class LockedError(CheckpointError):
    """Another process works in the run directory."""


@contextmanager
def locked(run: Path, name: str = ".lock") -> Iterator[None]:
    """Hold a run directory; LockedError if another process does. Locks of other names do not exclude each other."""
    with ExitStack() as stack:
        try:
            ours = stack.enter_context(held(run / name))
        except OSError as reason:
            raise disk_error(run, reason) from None
        if not ours:
            raise LockedError(f"another process trains in {run}; wait for it or choose another --out")
        yield
