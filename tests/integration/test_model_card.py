"""The model card of a run: what it says, when it is written, and that no text of a file gets out of its cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import rate
from integration.tiny import config
from rate.experiment import train_run
from rate.experiment.model_card import OURS, code, write_card
from rate.training.run_dir import RunDir

HOSTILE = "x`|<script>alert(1)</script>\n# Title\n![](http://a/b.png)[a](javascript:b)\\`\x1b[2J"


def test_the_card_tells_what_the_run_is_and_grows_with_it(run: Path) -> None:
    text = (run / "README.md").read_text()
    assert text.startswith("---\nlibrary_name: rate\n") and OURS in text
    loaded = rate.load(run)
    parameters = f"| `{loaded.policy.parameter_count()}` |"
    for said in (parameters, "`30 of 30`", "| `tmaze` |", "segment_len=3", "rate.load("):
        assert said in text
    assert "Not evaluated yet" in text
    loaded.evaluate()
    (row,) = [line for line in (run / "README.md").read_text().splitlines() if line.startswith("| `length=9`")]
    assert "`8`" in row and "Not evaluated yet" not in (run / "README.md").read_text()


def test_it_is_written_with_the_first_checkpoint_and_a_resumed_run_keeps_a_card_of_ones_own(tmp_path: Path) -> None:
    out, steps = tmp_path / "run", list[bool]()
    train_run(config(steps=1), out, on_step=lambda step, metrics: steps.append((out / "README.md").exists()))
    assert steps == [True]
    (out / "README.md").write_text("my own words\n")
    rate.load(out).evaluate()
    assert (out / "README.md").read_text() == "my own words\n"


def test_texts_of_files_stay_in_their_cells(run: Path) -> None:
    stored = json.loads((run / "config.json").read_text())
    stored["data"]["path"], stored["recipe"] = f"/home/me/{HOSTILE}", HOSTILE
    (run / "config.json").write_text(json.dumps(stored))
    line = {"case": HOSTILE, "checkpoint": HOSTILE, "step": HOSTILE, "episodes": [HOSTILE], "return_mean": 1.0}
    (run / "evaluations.jsonl").write_text(json.dumps({**line, "success_rate": {"value": HOSTILE}}) + "\n")
    write_card(RunDir.open(run), 7)
    text = (run / "README.md").read_text()
    assert "| `7` |" in text and "x'/<script>" in text
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").render(text.partition(OURS)[2])
    assert not [part for part in ("<script", "<img", "<a ", "\x1b") if part in shown]
    assert shown.count("<h1>") == 1


def test_a_link_in_its_place_is_replaced_and_lines_that_make_no_sense_are_left_out(run: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text(OURS)
    (run / "README.md").unlink()
    (run / "README.md").symlink_to(foreign)
    (run / "evaluations.jsonl").write_text('{"episodes": 1, "return_mean": "nan"}\n{"episodes": 1}\n[1]\n{\n')
    write_card(RunDir.open(run), 7)
    assert foreign.read_text() == OURS and not (run / "README.md").is_symlink()
    assert "Not evaluated yet" in (run / "README.md").read_text()


@pytest.mark.parametrize("text", ["", "`", "a\nb", "x" * 1000, "\u202e"])
def test_code_is_one_cell(text: str) -> None:
    cell = code(text)
    assert cell.count("`") in (0, 2) and not {"|", "\n", "\u202e"} & set(cell) and len(cell) <= 202
