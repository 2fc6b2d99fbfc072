"""`rate inspect`: one page that opens without a word, is scrubbed by keys, fits a phone and holds no foreign markup."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from browser import ask, needs_browser, picture
from integration import echo
from integration.tiny import config
from rate.cli.main import main
from rate.experiment import train_run
from rate.models import MODELS
from rate.reports.page.inspection.frames import ROOM, embed

Refused = Callable[..., str]
HOSTILE = "</script><img src=x onerror=alert(1)>"
KEYS = """() => {
  const press = (key, target) =>
    (target || document).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const slider = document.getElementById("step");
  const [seen, attention] = [() => document.querySelector(".picture"), () => document.querySelector(".look canvas")];
  const look = () => [+slider.value, seen().textContent, attention().toDataURL()];
  const found = [look()];
  for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home"]) {
    press(key);
    found.push(look());
  }
  press("PageUp", slider);
  found.push(look());
  slider.value = 5;
  slider.dispatchEvent(new Event("input"));
  found.push(look());
  return found;
}"""
HINTS = """() => [document.getElementById("knows").hidden,
  ...[".look", ".memory"].map((part) => document.querySelector(`${part} .hint`).textContent)]"""
WIDTHS = "() => [innerWidth, document.documentElement.scrollWidth, document.querySelectorAll('article').length]"


@pytest.fixture(scope="module")
def runs(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """RATE, under a name that would be markup, and a DT; not to be changed."""
    place = tmp_path_factory.mktemp("inspected")
    name = f"\u202e{HOSTILE.replace('/', '')}"
    dt = MODELS.get("dt")(9, layers=1, width=16, heads=2, head_width=8)
    train_run(replace(config(steps=2), model=dt), place / "dt")
    return [Path(shutil.copytree(finished, place / name)), place / "dt"]


@pytest.fixture(scope="module")
def page(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "page.html"
    assert main(["inspect", *map(str, runs), "--set", "length=40", "--episodes", "20", "--out", str(out)]) == 0
    return out


def test_the_page_needs_nothing_else(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<img src=x" not in text and "\u202e" not in text and "\\u003cimg src=x onerror=alert(1)>" in text
    assert "default-src 'none'" in text
    assert set(re.findall(r"https?://[\w./]+", text)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert len(text) < 200_000


@needs_browser
def test_a_page_that_complains_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<script>throw new Error('no')</script>")
    with pytest.raises(AssertionError, match="CONSOLE"):
        picture((tmp_path / "page.html").as_uri(), tmp_path)


@needs_browser
def test_keys_and_the_slider_change_what_is_seen(page: Path, tmp_path: Path) -> None:
    found = ask(page, KEYS, tmp_path)
    steps = [step for step, *_ in found]
    last = steps[4]
    assert steps == [0, 1, 2, 1, last, last, 0, 10, 5] and last > 10
    pictures, looks = [seen for _, seen, _ in found], [look for *_, look in found]
    assert pictures[0] == pictures[6] and looks[0] == looks[6] and looks[1] == looks[3]
    assert len(set(looks)) == len(set(steps))


@needs_browser
def test_the_page_fits_a_phone_and_a_step_can_be_linked(page: Path, tmp_path: Path) -> None:
    width, needed, panels = ask(page, WIDTHS, tmp_path, size=(500, 800))  # the narrowest window that there is
    assert needed <= width == 500 and panels == 2
    first, later = (picture(f"{page.as_uri()}#{step}", tmp_path) for step in (0, 7))
    assert np.abs(first - later).max(axis=-1).astype(bool).sum() > 500


@needs_browser
def test_a_model_without_attention_and_a_fact_that_is_not_told(tmp_path: Path, place: Path) -> None:
    """The page says what it has not."""
    echo.write_store(tmp_path / "log", echo.episodes(20))
    base = config(steps=2, data={"path": str(tmp_path / "log")})
    own = {"env": replace(base.env, name="my_echo:make"), "eval": replace(base.eval, cases=())}
    lstm = {"model": MODELS.get("bc-lstm")(9, width=16), "train": replace(base.train, window=6)}
    train_run(replace(base, **own, **lstm), tmp_path / "lstm")
    words = ["--env", "my_echo:make", "--max-steps", "9", "--episodes", "10", "--target-return", "1"]
    assert main(["inspect", str(tmp_path / "lstm"), *words]) == 0
    hidden, *hints = ask(tmp_path / "inspect.html", HINTS, tmp_path)
    assert hidden and "no attention that tells its weights" in hints[0] and "no memory embeddings" in hints[1]


def test_what_is_said(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "one.html"
    words = ["--set", "length=12", "--episodes", "10", "--info", "clue", "--seed", "5", "--out", str(out), "--json"]
    assert main(["inspect", str(runs[1]), *words]) == 0
    said = capsys.readouterr()
    assert "carries no memory embeddings" in said.err and "hidden vector" in said.err
    facts = json.loads(said.out)
    (run,) = facts["runs"]
    assert facts["bytes"] == out.stat().st_size and run["info"] == "clue" and list(run["accuracy"]) == ["hidden"]
    assert [at["step"] for at in run["accuracy"]["hidden"]][:3] == [0, 1, 2]
    assert main(["inspect", str(runs[0]), *words[:-1]]) == 0
    said = capsys.readouterr()
    assert said.err == "" and "clue read from memory" in said.out and "(chance 0.50)" in said.out


def test_two_hundred_steps_are_small(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "long.html"
    assert main(["inspect", *map(str, runs), "--set", "length=200", "--episodes", "10", "--out", str(out)]) == 0
    assert out.stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["run", "--info", "cleu"], ("unknown info of tmaze: 'cleu'", "did you mean 'clue'")),
        (["run", "--set", "lenght=9"], ("did you mean 'length'",)),
        (["run", "--set", "length=5000"], ("may take 5000 steps", "--max-steps")),
        (["run", "--episodes", "3"], ("--episodes is 3", "at least 10")),
        (["run", "--seed", "-1"], ("--seed is -1",)),
        (["run", "--out", "page.png"], ("page.png is no page", ".html")),
        (["run", "--out", "nowhere/page.html"], ("the directory nowhere does not exist",)),
        (["run", "run", "run"], ("3 runs were given", "one, or two")),
        ([], ("0 runs were given",)),
        (["nowhere"], ("nowhere is not a run directory",)),
    ],
)
def test_what_cannot_be_inspected(
    words: list[str], parts: tuple[str, ...], run: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    refused(["inspect", *words], *parts)


def test_a_run_without_an_environment_and_one_that_tells_nothing(
    place: Path, refused: Refused, capsys: pytest.CaptureFixture[str]
) -> None:
    echo.write_store(place / "log", echo.episodes(20))
    assert main(["train", "--data", "log", "--model.width", "16", "--train.steps", "1", "--out", "alone"]) == 0
    refused(["inspect", "alone"], "alone has no environment", "--env")
    words = ["inspect", "alone", "--env", "my_echo:make", "--episodes", "10"]
    refused(words, "may take 1000000 steps", "--max-steps")
    refused([*words, "--max-steps", "9", "--info", "symbol"], "tells no single fact", "'symbol'")
    refused([*words, "--max-steps", "9"], "target_return")
    assert main([*words, "--max-steps", "9", "--target-return", "1"]) == 0
    assert "no fact to probe for" in capsys.readouterr().out
    text = (place / "inspect.html").read_text(encoding="utf-8")
    assert "there is nothing to probe for" in text and '"knowledge":null' in text


def test_many_large_pictures_become_small() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (60, 300, 400, 3), np.uint8)
    made = embed([*noise, noise[0], "text\x1b[31m!\n"])
    assert made["at"] == [*range(60), 0, 60] and made["different"][-1] == {"text": "text!"}
    assert sum(len(text) for one in made["different"] for text in one.values()) <= ROOM  # type: ignore[union-attr]
