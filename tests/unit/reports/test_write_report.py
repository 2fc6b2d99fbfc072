"""The whole report: files, page and browser.

One report over hostile names is written once and looked at from all sides.
"""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from browser import needs_browser, picture, pixels_of
from rate.errors import CheckpointError
from rate.reports import Report, write_report

FILES = ["horizon.png", "horizon.svg", "index.html", "learning_curves.png", "learning_curves.svg", "report.md"]
VOID = {"meta", "img", "source", "br", "wbr", "link"}


class Page(HTMLParser):
    """Collects the elements of a page and checks that they nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page(written: tuple[Report, Path]) -> Page:
    return Page(written[0].page.read_text(encoding="utf-8"))


def test_all_files_are_there_and_no_others(written: tuple[Report, Path]) -> None:
    report, out = written
    assert sorted(path.name for path in out.iterdir()) == [*FILES, "summary.json"]
    assert {path.name for path in report.figures} == {name for name in FILES if name.endswith(("png", "svg"))}


@pytest.mark.parametrize("name", ["learning_curves.png", "horizon.png"])
def test_pictures_are_not_blank(written: tuple[Report, Path], name: str) -> None:
    image = imread(written[1] / name)
    assert min(image.shape[:2]) > 400
    assert np.unique((image[..., :3] @ [65536, 256, 1] * 255).astype(int)).size > 50


def test_summary_holds_every_run_and_case(written: tuple[Report, Path]) -> None:
    rows = json.loads(written[0].summary.read_text())
    assert sorted((row["run"], row["case"]) for row in rows) == [
        ("hostile", "length-9"),
        ("rate-0", "length-9"),
        ("rate-0", "length-90"),
        ("rate-1", "length-9"),
        ("rate-1", "length-90"),
    ]


def test_markdown_holds_tables_figures_and_notes(written: tuple[Report, Path]) -> None:
    report, text = written[0], written[0].markdown.read_text(encoding="utf-8")
    assert (
        "| rate | 2 | 40 | 1.00 [0.91, 1.00] (2 runs: 1.00 ± 0.00, min 1.00) "
        "| 0.93 [0.80, 0.97] (2 runs: 0.93 ± 0.02, min 0.90) |" in text
    )
    assert "| dt | 1 | 0 | not evaluated | not evaluated |" in report.table
    assert all(line in text for line in report.table.splitlines())
    assert "![horizon](horizon.png)" in text and "![learning curves](learning_curves.png)" in text
    assert report.notes == ("rate-0: the last line of eval.jsonl is cut off and was left out",)
    assert "<script" not in text


def test_page_is_self_contained(written: tuple[Report, Path], page: Page) -> None:
    text = written[0].page.read_text(encoding="utf-8")
    assert not re.search(r"https?://|url\(|@import", text)
    assert not page.all("script") and not page.all("link") and not page.all("iframe")
    sources = [image["src"] for image in page.all("img")] + [source["srcset"] for source in page.all("source")]
    assert len(sources) == 6
    for source in sources:
        assert source is not None and source.startswith("data:image/svg+xml;base64,")
        svg = base64.b64decode(source.split(",", 1)[1]).decode("utf-8")
        assert not re.search(r"href=\"(?!#)", svg)


def test_page_escapes_what_files_say(page: Page) -> None:
    assert "<script>alert(1)</script>|'\"$x$ & _" in page.text
    assert "rate train '<b>x</b>'" in page.text
    assert not page.all("b")


def test_page_is_accessible(page: Page) -> None:
    assert page.all("html")[0]["lang"] == "en"
    assert all(image["alt"] for image in page.all("img"))
    assert len(page.all("caption")) == len(page.all("table")) == 3
    assert all(cell["scope"] in ("col", "row") for cell in page.all("th"))
    assert page.all("meta")[1]["name"] == "viewport"


def test_page_shows_runs_and_methods(page: Page) -> None:
    assert len(page.all("details")) == 4 and all("open" not in item for item in page.all("details"))
    assert "Wilson 95 % score interval" in page.text and "training seeds" in page.text
    assert page.text.count("Several runs: the thick line is the mean over runs") == 2  # under the figure and in methods


def test_report_without_evaluation(make_run: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "horizon.png").write_bytes(b"of an earlier report")
    report = write_report([make_run("a", metrics=[{"step": 1, "train/loss": 1.0}])], out)
    assert sorted(path.name for path in out.iterdir()) == [
        "index.html",
        "learning_curves.png",
        "learning_curves.svg",
        "report.md",
        "summary.json",
    ]
    assert "not evaluated" in report.table and json.loads(report.summary.read_text()) == []
    assert "not evaluated" in Page(report.page.read_text(encoding="utf-8")).text


def test_refuses_before_it_writes(make_run: Any, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        write_report([make_run("a"), tmp_path / "nowhere"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="is a file"):
        write_report([tmp_path / "runs" / "a"], tmp_path / "file")


@needs_browser
def test_page_opens_in_a_browser(written: tuple[Report, Path], tmp_path: Path) -> None:
    # The colour of the first model appears only in the figures, so seeing it means that they were decoded.
    assert pixels_of(picture(written[0].page.as_uri(), tmp_path), (0x00, 0x72, 0xB2)) > 200
