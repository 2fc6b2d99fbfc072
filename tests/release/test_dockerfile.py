"""The Dockerfile, by reading: it copies what exists and is not ignored, and runs what is copied. Nothing is built."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text().splitlines()


def copied() -> list[str]:
    return [name for line in LINES if line.startswith("COPY ") for name in line.split()[1:-1]]


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(copied()) == sorted(allowed) and all((ROOT / name).exists() for name in copied())


def test_what_is_run_is_copied_before_and_what_the_build_reads_too() -> None:
    (command,) = (json.loads(line.removeprefix("CMD ")) for line in LINES if line.startswith("CMD "))
    assert (ROOT / command[1]).is_file() and command[1].split("/")[0] in copied()
    read = re.findall(
        r'^(?:readme = |license-files = \[|path = )"([^"]+)"', (ROOT / "pyproject.toml").read_text(), re.M
    )
    assert len(read) == 3 and all(any(name.startswith(one) for one in copied()) for name in read)
    install = next(number for number, line in enumerate(LINES) if line.endswith("constraints.txt ."))
    before = [line for line in LINES[:install] if line.startswith("COPY ")]
    assert any(" src " in line for line in before) and any("pyproject.toml" in line for line in before)


def test_it_does_not_run_as_root() -> None:
    assert LINES.index("USER rate") < next(number for number, line in enumerate(LINES) if line.startswith("CMD"))
