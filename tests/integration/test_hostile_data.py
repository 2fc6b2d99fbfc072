"""Data from somebody who means harm: every command refuses it in one line, soon, and nothing that it names is run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hostile_data as hostile
from integration import echo
from integration.tiny import files
from rate.cli.main import main

Refused = Callable[..., str]
LONGEST = 5.0
MARK = "it-was-run"


@pytest.fixture(autouse=True)
def payload(place: Path) -> None:
    """What the artefacts name is there, and would leave a mark."""
    source = f"from pathlib import Path\nPath({MARK!r}).touch()\ndef run(*args, **kwargs):\n    pass\n"
    (place / f"{hostile.MODULE}.py").write_text(source)


@pytest.fixture
def harmless(place: Path, refused: Refused) -> Callable[..., None]:
    """harmless(words, part): refused in one line within seconds; nothing was imported."""

    def check(words: list[str], part: str) -> None:
        start = time.perf_counter()
        refused(words, part)
        assert time.perf_counter() - start < LONGEST
        assert not (place / MARK).exists() and hostile.MODULE not in sys.modules

    return check


@pytest.mark.parametrize("case", hostile.FILES)
def test_files_to_import(case: str, place: Path, harmless: Callable[..., None]) -> None:
    make, part = hostile.FILES[case]
    if case in ("a link to another file", "values of other files"):
        pytest.importorskip("h5py")
    harmless(["data", "import", make(place / "log").name, "--out", "data/log"], part)


def on_data(source: str) -> list[list[str]]:
    """Every command that reads a data set."""
    return [
        ["data", "info", source],
        ["data", "check", source],
        ["data", "export", source, "me/copy-v0"],
        ["train", "--data", source, "--out", "run"],
    ]


@pytest.mark.parametrize("case", hostile.STORES)
def test_stores(case: str, place: Path, harmless: Callable[..., None]) -> None:
    change, part = hostile.STORES[case]
    change(echo.write_store(place / "log", echo.episodes(3)))
    (place / "minari").mkdir()
    for words in on_data("log"):
        harmless(words, part)


def test_rewards_without_a_finite_sum(place: Path, harmless: Callable[..., None]) -> None:
    """Each is finite: nobody could train on them, whatever `data check` said."""
    store, part = echo.write_store(place / "log", echo.episodes(3)), "of episode 0 have no finite sum"
    hostile.put_column(store, "rewards", hostile.npy("(18,)", "<f8", np.full(18, 1e308).tobytes()))
    for command in ("info", "check"):
        harmless(["data", command, "log"], part)
    np.savez(place / "flat.npz", **{**hostile.columns(), "rewards": np.full(hostile.STEPS, 1e308)})
    harmless(["data", "import", "flat.npz", "--out", "flat"], "the sum of its rewards is inf")


def test_a_name_of_a_million_characters(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No near name is looked for: that took minutes."""
    store, start = echo.write_store(place / "log", echo.episodes(3)), time.perf_counter()
    hostile.change_card(store, lambda card: card.update(environment="a" * 10**6))
    assert main(["train", "--data", "log", "--train.steps", "0", "--out", "run"]) == 2
    assert time.perf_counter() - start < LONGEST and len(capsys.readouterr().err) < 3000


@pytest.mark.parametrize("case", hostile.MINARI)
def test_minari_data_sets(case: str, place: Path, harmless: Callable[..., None]) -> None:
    pytest.importorskip("minari")
    change, part = hostile.MINARI[case]
    echo.write_minari("me/log-v0", 3)
    (place / "data").mkdir()
    change(place / "minari" / "me" / "log-v0" / "data")
    for words in on_data("minari/me/log-v0"):
        harmless(words, part)


@pytest.mark.parametrize("link", ["log", ".log.making"])
def test_nothing_is_written_through_a_link(link: str, place: Path, harmless: Callable[..., None]) -> None:
    """Also not into an empty directory elsewhere."""
    pytest.importorskip("minari")
    echo.write_store(place / "good", echo.episodes(3))
    np.savez(place / "flat.npz", **hostile.columns())
    for there in ("foreign", "elsewhere"):
        (place / there).mkdir()
    (place / "elsewhere" / "theirs").write_text("theirs")
    (place / "minari" / "me").mkdir(parents=True)
    for directory in (place, place / "minari" / "me"):
        for name in (link, link.replace("log", "log-v0")):
            (directory / name).symlink_to(place / ("foreign" if link == "log" else "elsewhere"))
    harmless(["data", "import", "flat.npz", "--out", "log"], "symbolic link")
    harmless(["collect", "tmaze", "--episodes", "3", "--out", "log"], "symbolic link")
    harmless(["data", "export", "good", "me/log-v0"], "symbolic link")


def test_members_that_are_not_needed_are_not_unpacked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a pickle nor a bomb under a name that has no place does harm."""
    path = hostile._npz(place / "log", payload=hostile.pickled(), bomb=hostile.npy(f"({1 << 40},)"))
    assert main(["data", "import", path.name, "--out", "log"]) == 0
    assert "left out, since there is no place for it: bomb, payload" in capsys.readouterr().err
    assert not (place / MARK).exists()


def test_an_environment_that_a_card_names_is_not_imported(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (f"{hostile.MODULE}:run", f"{hostile.MODULE}:Harm-v0"):
        log = echo.write_store(place / name.replace(":", "-"), echo.episodes(3), environment=name)
        before = files(place)
        for words in (["data", "info", str(log)], ["data", "check", str(log)]):
            assert main(words) == 0
        assert files(place) == before and hostile.MODULE not in sys.modules


def test_what_a_card_says_is_printed_without_escapes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = echo.write_store(place / "log", echo.episodes(3), environment="\x1b[2J\x1b]0;owned\x07" * 999)
    hostile.change_card(log, lambda card: card.update(dropped_infos=["\u202e"], options={"a\x1b[1m": "b\x07"}))
    assert main(["data", "info", "log"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said and "\x07" not in said and "\u202e" not in said
    assert max(map(len, said.splitlines())) < 2100
