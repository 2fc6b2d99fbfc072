"""Import, export and conversion, killed at any moment or on a full disk: nothing half is seen and nothing is left.

The commands run in copies of this process, which costs milliseconds where a new one costs seconds.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from integration import echo
from integration.tiny import files
from rate.cli.main import main

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="copies this process")
KILLS = 30
EPISODES = 30


def start(words: list[str], before: Callable[[], None] = lambda: None) -> int:
    """The id of a copy of this process that runs a command; what it says goes to said.txt."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(said, stream)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        before()
        code = main(words)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def ended(child: int) -> int:
    """Its exit code, or the number of the signal that ended it, below 0."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def commands(place: Path) -> dict[str, tuple[list[str], Path]]:
    """The words of each command, and the directory in which its result stands alone."""
    pytest.importorskip("minari")
    columns = echo.episodes(EPISODES)
    flat = {name: np.concatenate([item[name] for item in columns]) for name in ("actions", "rewards", "terminations")}
    np.savez("flat.npz", observations=np.concatenate([item["observations"][:-1] for item in columns]), **flat)
    echo.write_store(place / "store", columns)
    echo.write_minari("me/log-v0", EPISODES)
    assert main(["data", "export", "store", "warm/up-v0"]) == 0  # what is imported here need not be in each copy
    return {
        "import": (["data", "import", "flat.npz", "--out", "imported/log"], place / "imported"),
        "export": (["data", "export", "store", "you/copy-v0"], place / "minari" / "you"),
        "conversion": (["data", "info", "me/log-v0"], place / "data"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("which", ["import", "export", "conversion"])
def test_killed_at_any_time(which: str, commands: dict[str, tuple[list[str], Path]]) -> None:
    words, home = commands[which]
    began = time.perf_counter()
    assert ended(start(words)) == 0, Path("said.txt").read_text()
    longest, whole = time.perf_counter() - began, files(home)
    rng, killed, tries = random.Random(which), 0, 0
    while killed < KILLS and tries < 10 * KILLS:
        if result(home):
            shutil.rmtree(home)
        tries += 1
        child = start(words)
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        alive = ended(child) == -signal.SIGKILL
        killed += alive
        longest *= 1.0 if alive else 0.95  # the first call took longer than the others do
        assert not result(home) or {name: files(home)[name] for name in result(home)} == result_of(whole)
    assert killed == KILLS
    if not result(home):
        assert ended(start(words)) == 0, Path("said.txt").read_text()
    else:
        ended(start(words))  # it is done, or already there; what the killed one left is swept
    assert files(home) == whole


def result(home: Path) -> list[str]:
    """What can be seen of the result: neither hidden, nor Minari's note about the directory above."""
    return sorted(result_of(files(home))) if home.exists() else []


def result_of(found: dict[str, bytes]) -> dict[str, bytes]:
    hidden = {name for name in found if any(part.startswith(".") for part in Path(name).parts)}
    return {name: content for name, content in found.items() if name not in {*hidden, "namespace_metadata.json"}}


def limit_files(size: int) -> Callable[[], None]:
    """No file of the process may grow beyond: what a full disk does, for whoever runs the test."""

    def before() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return before


@pytest.mark.parametrize("which", ["import", "export", "conversion"])
def test_a_full_disk_is_one_line(which: str, commands: dict[str, tuple[list[str], Path]]) -> None:
    """Wherever in a file the disk is full. HDF5 itself would end the process by a segmentation fault."""
    pytest.importorskip("resource")
    words, home = commands[which]
    assert ended(start(words)) == 0
    longest = max(len(content) for content in files(home).values())
    shutil.rmtree(home)
    for part in range(1, 8):
        code = ended(start(words, limit_files(longest * part // 8)))
        said = Path("said.txt").read_text().splitlines()
        assert (code, len(said)) == (2, 1), (code, said)
        assert said[0].startswith("rate: cannot write") and "File too large" in said[0]
        assert not home.exists() or not files(home), files(home).keys()
