"""Stands between a process and an engine that it starts: whatever ends the one ends the other.
What an engine leaves in shared memory is removed. Run as a script, guard.py OWNER FOLDER ENGINE ARGUMENTS: it imports
nothing of this library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import sys
from types import FrameType

PR_SET_PDEATHSIG = 1
SHARED = ("/dev/shm/ViZDoomSM", "/dev/shm/ViZDoomMQDoom", "/dev/shm/ViZDoomMQCtr")
"""Files that the engine and its owner share; the name of the instance follows."""


def main() -> None:
    """Start the engine and wait for its end, or for that of the owner."""
    owner, folder, engine, *arguments = sys.argv[1:]
    os.setsid()  # Ctrl-C of a terminal is for the owner
    end_with_parent(signal.SIGTERM)
    pid = os.fork()
    if pid == 0:
        end_with_parent(signal.SIGKILL)
        os.execv(engine, [engine, *arguments])

    def end(number: int = 0, frame: FrameType | None = None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    if os.getppid() != int(owner):  # it was gone before anybody could tell
        end()
    os.waitpid(pid, 0)
    for name in left_behind(arguments):
        with contextlib.suppress(OSError):
            os.unlink(name)
    shutil.rmtree(folder, ignore_errors=True)


def end_with_parent(number: int) -> None:
    """Ask the system for this signal when the parent ends, however it does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def left_behind(arguments: list[str]) -> list[str]:
    """What is shared with an engine that was started with these arguments."""
    if "+viz_instance_id" not in arguments:
        return []
    instance = arguments[arguments.index("+viz_instance_id") + 1]
    return [name + instance for name in SHARED]


if __name__ == "__main__":
    main()
