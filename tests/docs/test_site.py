"""The documentation site: built without a warning, complete, and whole without a server or a network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rate
from browser import needs_browser, run

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?((?:https?:)?//[^\"\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make docs` builds."""
    pytest.importorskip("mkdocs")
    out = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "docs/.site/mkdocs.yml", "-d", str(out)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert " ".join(command[1:6]) in (ROOT / "Makefile").read_text()
    return out


@pytest.mark.slow
def test_every_page_and_every_exported_name_is_there_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT).with_suffix(".html")
        assert (site / place).is_file() or (site / place.with_name("index.html")).is_file(), page
    names = re.findall(r'<h2 id="rate\.[\w.]*?(\w+)"', (site / "reference" / "rate.html").read_text())
    assert set(rate.__dir__()) >= set(names) == set(rate.__getattr__("__all__"))
    assert "Train in the directory" in (site / "reference" / "rate.html").read_text()
    for page in site.rglob("*.html"):
        assert not LOADED.findall(page.read_text()), page


@pytest.mark.slow
@needs_browser
def test_search_works_from_the_file_system(site: Path, tmp_path: Path) -> None:
    shown = run(f"{(site / 'index.html').as_uri()}?q=retention+valve", tmp_path / "profile", "--dump-dom")
    found = re.findall(r'<a href="([^"?]+)[^"]*" class="md-search-result__link"', shown)
    assert any(address.endswith("docs/models/valves.html") for address in found), found
