"""`rate play`: experts, runs and chance, in the terminal and as files, and one line where nothing can be played."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from integration.tiny import config
from rate.cli.main import main
from rate.config import edit
from rate.envs.spec import CollectRequest
from rate.envs.tmaze_expert import oracle
from rate.experiment import train_run
from rate.models import MODELS

Refused = Callable[..., str]


def test_the_expert_plays_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "tmaze", "--set", "length=5", "--seed", "1"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    frames = said.out.split("\n\n")
    assert frames[0] == "step 0\n   .\no...\n   G" and len(frames) == 6
    assert frames[4].startswith("step 4 · action 3 · reward 1 · return 1\n")
    assert frames[5] == "tmaze, length=5, seed 1: the expert: 4 steps, return 1, success\n"


def test_options_of_the_expert_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "tmaze", "--set", "length=7,loss_fraction=1", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["steps"], facts["return"], facts["success"], facts["player"]) == (6, 0.0, False, "the expert")


def test_the_expert_plays_what_it_demonstrates(capsys: pytest.CaptureFixture[str]) -> None:
    request = CollectRequest(episodes=1, seed=3, kwargs={"lengths": "exact", "length": 8})
    shown = next(iter(oracle(request)))
    assert main(["play", "tmaze", "--set", "length=8", "--seed", str(shown.seed)]) == 0
    captions = [line for line in capsys.readouterr().out.splitlines() if " · action " in line]
    assert [int(line.split()[4]) for line in captions] == shown.actions.tolist()


def test_a_run_plays_the_episodes_that_it_was_judged_by(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(run), "--set", "length=9", "--episodes", "4"]) == 0
    judged = [json.loads(line) for line in (run / "eval.jsonl").read_text().splitlines()]
    for record in judged:
        capsys.readouterr()
        assert main(["play", "--run", str(run), "--seed", str(record["seed"]), "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["env"] == "tmaze" and facts["case"] == record["case"] == "length=9"
        played = (facts["return"], facts["steps"], facts["success"])
        assert played == (record["episode_return"], record["length"], record["success"])
    assert len((run / "eval.jsonl").read_text().splitlines()) == 4  # playing records nothing


def test_a_run_says_what_counts_as_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_run(edit(config(steps=1), {"env.success": "length < 2"}), tmp_path / "run")
    assert main(["play", "--run", str(tmp_path / "run"), "--set", "length=9", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["steps"] >= 2 and facts["success"] is False
    train_run(edit(config(steps=1), {"env.success": "length >= 2"}), tmp_path / "other")
    assert main(["play", "--run", str(tmp_path / "other"), "--set", "length=9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["success"] is True


def test_a_text_file_of_any_spelling_is_text(tmp_path: Path) -> None:
    """This environment draws pictures too; those are for films."""
    pytest.importorskip("minigrid")
    for name in ("a.txt", "b.TXT"):
        assert main(["play", "minigrid-memory", "--set", "size=11", "--out", str(tmp_path / name)]) == 0
    assert "#####" in (tmp_path / "a.txt").read_text() == (tmp_path / "b.TXT").read_text()


def test_a_run_plays_into_a_film(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.gif"
    words = ["play", "tmaze", "--run", str(run), "--set", "length=12", "--max-steps", "3", "--out", str(out)]
    assert main(words) == 0
    assert str(out) in capsys.readouterr().out
    with Image.open(out) as film:
        assert film.n_frames == 4


def test_a_film_of_a_run_with_memory_shows_it(run: Path, tmp_path: Path) -> None:
    words = ["play", "--run", str(run), "--max-steps", "5", "--out"]
    assert (
        main([*words, str(tmp_path / "with.gif")]) == main([*words, str(tmp_path / "without.gif"), "--no-memory"]) == 0
    )
    with Image.open(tmp_path / "with.gif") as film, Image.open(tmp_path / "without.gif") as plain:
        assert film.n_frames == plain.n_frames == 6 and film.width > plain.width + 300


def test_a_line_tells_how_far_a_border_changed_memory(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Segments have three steps."""
    words = ["play", "--run", str(run), "--max-steps", "5"]
    assert main([*words, "--out", str(tmp_path / "a.txt")]) == 0
    capsys.readouterr()
    assert main(words) == 0
    for said in (capsys.readouterr().out, (tmp_path / "a.txt").read_text()):
        lines = said.splitlines()
        (told,) = (at for at, line in enumerate(lines) if line.startswith("segment "))
        assert re.fullmatch(r"segment 2 · memory changed by \d+(\.\d)? %", lines[told])
        assert lines[told - 1].startswith("step 4 · ")
    assert main([*words, "--no-memory"]) == 0
    assert "memory" not in capsys.readouterr().out


def test_a_run_without_memory_plays_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_run(edit(config(steps=1), {"model": MODELS.get("dt")(9, layers=1, width=16)}), tmp_path / "run")
    sizes = []
    for switch in ("--memory", "--no-memory"):
        out = tmp_path / "a.gif"
        assert main(["play", "--run", str(tmp_path / "run"), "--max-steps", "5", "--out", str(out), switch]) == 0
        sizes.append(out.read_bytes())
    assert sizes[0] == sizes[1]


def test_what_has_no_expert_plays_at_random_and_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pygame")
    out = tmp_path / "cart.gif"
    assert main(["play", "CartPole-v1", "--max-steps", "4", "--out", str(out), "--json"]) == 0
    said = capsys.readouterr()
    assert "note: CartPole-v1 has no expert that plays; actions are random" in said.err
    facts = json.loads(said.out)
    assert (facts["player"], facts["steps"], facts["return"], facts["success"]) == ("random actions", 4, 4.0, None)
    with Image.open(out) as film:
        assert film.n_frames == 5 and film.width > film.height > 300


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ("which environment?",)),
        (["tmazes"], ("unknown environment", "did you mean 'tmaze'")),
        (["tmaze", "--out", "a.avi"], ("a.avi is none of .gif, .mp4, .txt",)),
        (["tmaze", "--out", "no/a.gif"], ("directory no does not exist",)),
        (["tmaze", "--set", "lenght=9"], ("did you mean 'length'",)),
        (["tmaze", "--max-steps", "0"], ("0 steps",)),
        (["tmaze", "--seed", "-1"], ("--seed is -1",)),
        (["--run", "nowhere"], ("nowhere",)),
        (["--run", "run", "--set", "loss_fraction=1"], ("unknown argument of tmaze", "loss_fraction")),
        (["CartPole-v1", "--run", "run"], ("observations", "they differ")),
        (["CartPole-v99"], ("unknown environment", "did you mean 'CartPole-v1'")),
        (["no_such_module:make"], ("no module 'no_such_module'",)),
    ],
)
def test_what_cannot_be_played(
    words: list[str], parts: tuple[str, ...], run: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    refused(["play", *words], *parts)
