"""Push and pull: the same run on the other side, and nothing that is not a run gets through."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rate
from integration.tiny import files, same_tensors, tensors
from rate.cli.main import main
from rate.experiment.sharing import MANIFEST
from rate.training.run_dir import locked

Refused = Callable[..., str]


@pytest.fixture
def pushed(finished: Path, tmp_path: Path) -> Path:
    assert main(["push", str(finished), str(tmp_path / "shared" / "run")]) == 0
    return tmp_path / "shared" / "run"


def relist(pushed: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Another list, as somebody would write it who means harm."""
    listed = json.loads((pushed / MANIFEST).read_text())
    change(listed)
    (pushed / MANIFEST).write_text(json.dumps(listed))


def test_what_is_pulled_is_the_run(finished: Path, pushed: Path, tmp_path: Path) -> None:
    assert main(["pull", str(pushed), "--out", str(tmp_path / "mine")]) == 0
    mine, theirs = files(tmp_path / "mine"), files(finished)
    left = {name for name in theirs.keys() - mine.keys() if not name.startswith(("tensorboard", ".lock"))}
    assert not left and all(theirs[name] == content for name, content in mine.items())
    assert same_tensors(tensors(tmp_path / "mine"), tensors(finished))
    assert rate.load(tmp_path / "mine").evaluate()[0].records
    assert main(["train", "--out", str(tmp_path / "mine"), "--resume"]) == 0


def test_a_push_replaces_an_earlier_one_and_nothing_else(run: Path, pushed: Path, refused: Refused) -> None:
    (pushed.parent / "other").mkdir()
    (pushed.parent / "other" / "file").write_text("mine")
    for place in (pushed.parent / "other", pushed.parent / "other" / "file"):
        refused(["push", str(run), str(place)], "not a pushed run")
    refused(["push", str(run), str(run)], "not a pushed run")


def test_a_second_push_is_the_newer_run(run: Path, pushed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "meta.json").write_text("{}")
    (run / "my_notes.txt").write_text("mine")
    capsys.readouterr()
    assert main(["push", str(run), str(pushed)]) == 0
    assert "such as my_notes.txt" in capsys.readouterr().err
    assert (pushed / "meta.json").read_text() == "{}" and not (pushed / "my_notes.txt").exists()
    assert sorted(os.listdir(pushed.parent)) == ["run"]


HARM: dict[str, tuple[Callable[[Path], Any], str]] = {
    "other weights": (lambda at: next(at.rglob("weights.safetensors")).write_bytes(b"x"), "checksum differs"),
    "longer": (lambda at: (at / "meta.json").write_text("x" * 10_000), "more than the"),
    "a file more": (lambda at: (at / "payload.py").write_text(""), "does not list"),
    "a pickle more": (lambda at: (at / "checkpoints" / "policy.pkl").write_text(""), "does not list"),
    "a file less": (lambda at: (at / "meta.json").unlink(), "does not exist"),
    "no list": (lambda at: (at / MANIFEST).unlink(), "not a pushed run"),
    "a link": (lambda at: ((at / "meta.json").unlink(), (at / "meta.json").symlink_to("config.json")), "is a link"),
    "a linked directory": (
        lambda at: (shutil.move(at / "checkpoints", at.parent / "c"), (at / "checkpoints").symlink_to(at.parent / "c")),
        "is a link",
    ),
    "a pipe": (lambda at: ((at / "meta.json").unlink(), os.mkfifo(at / "meta.json")), "is a link or no file"),
    "deep": (lambda at: at.joinpath(*"a" * 20).mkdir(parents=True), "deeper"),
    "outside": (lambda at: relist(at, lambda all: all["files"].update({"../x": {}})), "not a file of a run"),
    "absolute": (lambda at: relist(at, lambda all: all["files"].update({"/tmp/x": {}})), "not a file of a run"),
    "listed code": (lambda at: relist(at, lambda all: all["files"].update({"x.py": {}})), "not a file of a run"),
    "a text for a size": (
        lambda at: relist(at, lambda all: all["files"]["meta.json"].update(size="9")),
        "does not tell size",
    ),
    "no files": (lambda at: relist(at, lambda all: all.update(files={})), "does not list the files of a run"),
    "no object": (lambda at: (at / MANIFEST).write_text("[1]"), "cannot be read"),
    "another version": (lambda at: relist(at, lambda all: all.update(version=9)), "version 1"),
}


@pytest.mark.parametrize("harm", HARM)
def test_what_is_no_run_is_refused_whole(harm: str, pushed: Path, tmp_path: Path, refused: Refused) -> None:
    make, said = HARM[harm]
    make(pushed)
    if harm == "a pipe":  # which cannot be read to be compared
        assert main(["pull", str(pushed), "--out", str(tmp_path / "mine")]) == 2
    else:
        refused(["pull", str(pushed), "--out", str(tmp_path / "mine")], said)
    assert not (tmp_path / "mine").exists() and not list(tmp_path.glob(".rate-*"))


def test_places_that_are_taken_or_wrong(run: Path, pushed: Path, tmp_path: Path, refused: Refused) -> None:
    refused(["pull", str(pushed), "--out", str(run)], "exists already")
    refused(["pull", str(tmp_path / "nowhere"), "--out", str(tmp_path / "mine")], "is not a directory")
    refused(["push", str(tmp_path), str(tmp_path / "to")], "not a run directory")
    refused(["push", str(run), "hf://name-without-owner"], "hf://OWNER/NAME")
    refused(["push", str(run), "hf://me/run@main"], "leave @main away")
    with locked(run):
        assert main(["push", str(run), str(tmp_path / "to")]) == 2


def test_a_hub_that_cannot_be_reached_is_one_line(
    tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    refused(["pull", "hf://nobody/nothing", "--out", str(tmp_path / "mine")], "hf://nobody/nothing cannot be reached")
