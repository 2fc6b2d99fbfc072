"""What only names things is there at once: no torch, and a fraction of the time that its import takes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RUN = "import sys; from rate.cli.main import main; code = main(sys.argv[1:]); print('torch' in sys.modules, code)"
LIGHT = [["--help"], ["--version"], ["list"], ["list", "valves"], ["list", "recipes", "--json"], ["nope"]]


def cpu_seconds(*words: str) -> float:
    """Of a Python process, the best of four: what else the machine does hardly counts in it."""
    spent = []
    for _ in range(4):
        before = os.times()
        subprocess.run([sys.executable, *words], check=False, capture_output=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(spent)


@pytest.mark.parametrize("words", LIGHT, ids=" ".join)
def test_torch_is_not_imported(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"False {2 if words == ['nope'] else 0}"


def test_less_than_half_of_the_time_of_torch() -> None:
    assert cpu_seconds("-m", "rate", "list") < cpu_seconds("-c", "import torch") / 2


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """As `rate list recipes | head -1`: the pipe is closed before anything is written."""
    command = [sys.executable, "-c", "from rate.cli.main import entry; entry()", "list", "recipes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")
