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


def exists(name: str) -> bool:
    return any((place / name).exists() for place in (ROOT / "src" / "rate", ROOT))


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?|[a-z_]+\.py)`", TEXT)
    assert {name for name in named if not exists(name)} <= MADE_BY_RUNS


def section(heading: str) -> str:
    return re.split(r"^## ", TEXT.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)[0]


def test_the_picture_shows_every_package_and_nothing_else() -> None:
    picture = section("The packages")
    shown = re.findall(r"\b([a-z_]+(?:/|\.py))(?=[ ,;(\n])", picture)
    assert all(exists(name) or exists(f"models/{name}") for name in shown)
    packages = {f"{path.parent.name}/" for path in (ROOT / "src" / "rate").glob("*/__init__.py")}
    assert packages <= set(shown)


def test_names_that_stand_before_a_file_are_in_it() -> None:
    """`unroll` in `models/policy.py`."""
    said = re.findall(r"`([A-Za-z_.]+)` in `([a-z_/]+\.py)`", TEXT)
    assert len(said) > 5
    for name, file in said:
        text = (ROOT / "src" / "rate" / file).read_text()
        assert re.search(rf"\b{name.split('.')[-1]}\b", text), f"{file} has no {name}"


def test_five_files_are_five() -> None:
    listed = re.findall(r"^\d\. `([a-z_/]+\.py)`", section("RATE in five files"), flags=re.MULTILINE)
    assert len(listed) == 5 and all(exists(name) for name in listed)
