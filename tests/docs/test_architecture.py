"""What ARCHITECTURE.md draws is what the code is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
MADE_BY_RUNS = {"runs/", "data/", "report/", "checkpoints/", "tensorboard/"}


def test_layers_are_those_that_the_imports_are_held_to() -> None:
    block = re.search(r"^```layers\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert block, "ARCHITECTURE.md has no block of layers"
    held = runpy.run_path(str(ROOT / "tests" / "unit" / "test_layers.py"))["LAYERS"]
    assert [set(line.split()) for line in block[1].splitlines()] == held


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?|[a-z_]+\.py)`", TEXT)
    missing = [name for name in named if not any((place / name).exists() for place in (ROOT / "src" / "rate", ROOT))]
    assert set(missing) <= MADE_BY_RUNS
