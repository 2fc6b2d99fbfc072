"""Own data and environments that do not work: exit code 2, one line that says why, and nothing on disk is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from integration import echo
from integration.tiny import files
from rate.cli.main import main
from rate.data.columns import crc32

Refused = Callable[..., str]
ENV = "my_echo:make"
pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def log(place: Path) -> Path:
    """Data that is in order."""
    return echo.write_store(place / "log", echo.episodes(30))


def change(log: Path, name: str, alter: Callable[[Any], Any]) -> None:
    """Other values in a column, with a card that agrees: what another program may have written."""
    path, card = log / "shard-00000" / f"{name}.npy", json.loads((log / "card.json").read_text())
    np.save(path, alter(np.load(path)))
    card["shards"][0]["files"][path.name] = {"size": path.stat().st_size, "crc32": crc32(path)}
    (log / "card.json").write_text(json.dumps(card))


def put(index: int, value: float) -> Callable[[Any], Any]:
    def alter(rows: Any) -> Any:
        rows[index] = value
        return rows

    return alter


def halve(log: Path) -> None:
    path = log / "shard-00000" / "observations.npy"
    os.truncate(path, path.stat().st_size // 2)


DAMAGES: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "rewards that are no number": (lambda log: change(log, "rewards", put(7, np.nan)), ("rewards", "not finite")),
    "rewards without end": (lambda log: change(log, "rewards", put(7, np.inf)), ("rewards", "not finite")),
    "an action out of range": (lambda log: change(log, "actions", put(7, 4)), ("actions", "outside of Discrete(4)")),
    "an action below the range": (lambda log: change(log, "actions", put(7, -1)), ("actions", "outside")),
    "an episode of length 0": (lambda log: change(log, "offsets", put(1, 0)), ("offsets.npy", "card")),
    "a shard cut in half": (halve, ("observations.npy", "bytes", "again")),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_data_that_breaks_training(case: str, log: Path, refused: Refused) -> None:
    damage, parts = DAMAGES[case]
    damage(log)
    refused(["data", "check", "log", "--env", ENV], *parts)
    refused(["data", "info", "log"], *parts)
    refused(["train", "--data", "log", "--env", ENV, "--out", "run"], *parts)


def minari_with(change: Callable[[dict[str, Any]], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("minari")
    good = echo.episodes

    def bad(count: int) -> list[dict[str, Any]]:
        columns = good(count)
        change(columns[2])
        return columns

    monkeypatch.setattr(echo, "episodes", bad)
    echo.write_minari("me/bad-v0", 5)


MINARI: dict[str, tuple[Callable[[dict[str, Any]], Any], tuple[str, ...]]] = {
    "rewards": (lambda columns: columns["rewards"].fill(np.nan), ("episode 2", "rewards", "not finite")),
    "actions": (lambda columns: columns["actions"].fill(9), ("episode 2", "actions", "outside of Discrete(4)")),
}


@pytest.mark.parametrize("case", MINARI)
def test_minari_data_that_breaks_training(case: str, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of the copy that was begun."""
    change, parts = MINARI[case]
    minari_with(change, monkeypatch)
    Path("data").mkdir()
    refused(["data", "check", "me/bad-v0"], *parts)
    refused(["train", "--data", "me/bad-v0", "--env", ENV, "--out", "run"], *parts)


def test_spaces_that_do_not_fit(place: Path, refused: Refused, capsys: pytest.CaptureFixture[str]) -> None:
    spaces = replace(echo.SPACES, action=gym.spaces.Discrete(5))
    echo.write_store(place / "log", echo.episodes(30), spaces)
    refused(["train", "--data", "log", "--env", ENV, "--out", "run"], "actions Discrete(5)", ENV, "Discrete(4)")
    before = files(place)
    assert main(["data", "check", "log", "--env", ENV]) == 2
    assert "actions Discrete(5)" in capsys.readouterr().err and files(place) == before
    assert main(["data", "check", "log"]) == 0


def test_an_action_space_that_no_head_knows(place: Path, refused: Refused, capsys: pytest.CaptureFixture[str]) -> None:
    spaces = replace(echo.SPACES, action=gym.spaces.MultiBinary(4))
    columns = [{**item, "actions": np.zeros((echo.STEPS, 4), np.int8)} for item in echo.episodes(3)]
    echo.write_store(place / "log", columns, spaces)
    assert main(["data", "check", "log"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "MultiBinary(4)" in said[0] and "not supported" in said[0]


def one_step(columns: dict[str, Any]) -> dict[str, Any]:
    """The last step alone."""
    return {name: rows[-2:] if name == "observations" else rows[-1:] for name, rows in columns.items()}


NOTES: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str]] = {
    "one step": (lambda log: log.append(one_step(log[0])), "1 of 31 episodes have one step"),
    "few": (lambda log: log.__delitem__(slice(5, None)), "there are only 5 episodes"),
    "one return": (lambda log: [one["rewards"].fill(0.5) for one in log], "every episode returns 3"),
    "one action": (lambda log: [one["actions"].fill(2) for one in log], "every action is 2"),
    "no end": (lambda log: [one["terminations"].fill(False) for one in log], "30 of 30 episodes are neither"),
    "several in one": (lambda log: log[0]["terminations"].fill(True), "1 of 30 episodes go on after a step"),
    "copies": (lambda log: log.extend(log[:3]), "3 of 33 episodes are copies"),
}


@pytest.mark.parametrize("case", NOTES)
def test_data_that_is_worth_a_note(case: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, expected = NOTES[case]
    columns = echo.episodes(30)
    assert len({one["observations"].tobytes() + one["actions"].tobytes() for one in columns}) == 30
    change(columns)
    echo.write_store(place / "log", columns)
    assert main(["data", "check", "log", "--env", ENV]) == 0
    said = capsys.readouterr().out
    assert f"note: {expected}" in said and "nothing would break" in said


def real_valued(count: int = 30) -> list[dict[str, Any]]:
    """Episodes of numbers around 0, one component around 1,000, with a reward at the end of every tenth."""
    rng = np.random.default_rng(0)
    made = []
    for index in range(count):
        seen = rng.normal((0, 1000), 1, (9, 2)).astype(np.float32)
        ends = np.arange(8) == 7
        earned = (ends * (index % 10 == 0) * 5).astype(np.float32)
        acts = rng.uniform(-1, 1, (8, 1)).astype(np.float32)
        made.append({"observations": seen, "actions": acts, "rewards": earned, "terminations": ends})
    return [{**item, "truncations": np.zeros(8, bool)} for item in made]


def put_in(name: str, *values: float) -> Callable[[list[dict[str, Any]]], None]:
    """Values at step 3 of episode 7 and after."""

    def change(columns: list[dict[str, Any]]) -> None:
        for number, value in enumerate(values):
            columns[7 + number][name].reshape(len(columns[7][name]), -1)[3, -1] = value

    return change


OUTLIERS: dict[str, tuple[Callable[[list[dict[str, Any]]], None], str]] = {
    "a reward": (
        put_in("rewards", 1e30),
        "rewards of 1 of 30 episodes are far outside of the rest, as 1e+30 at step 3",
    ),
    "a smaller reward": (put_in("rewards", 1e5), "rewards of 1 of 30"),
    "two rewards": (put_in("rewards", -1e30, 1e29), "rewards of 2 of 30"),
    "a component": (
        put_in("observations", 1e7),
        "observations of 1 of 30 episodes are far outside of the rest, as 1e+07",
    ),
    "an action": (put_in("actions", -3e6), "actions of 1 of 30 episodes are far outside of the rest, as -3e+06"),
}
REAL = {
    "observation": gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "action": gym.spaces.Box(-1, 1, (1,), np.float32),
}


@pytest.mark.parametrize("case", OUTLIERS)
def test_values_that_would_ruin_training(case: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, expected = OUTLIERS[case]
    columns = real_valued()
    change(columns)
    echo.write_store(place / "log", columns, replace(echo.SPACES, **REAL))
    assert main(["data", "check", "log"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "far outside" in line]
    assert line.startswith(f"note: {expected}") and "of episode 7" in line


def test_the_only_reward_of_all_is_too_large(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no usual one to compare it with."""
    columns = real_valued()
    for item in columns:
        item["rewards"].fill(1)
    put_in("rewards", 1e30)(columns)
    echo.write_store(place / "log", columns, replace(echo.SPACES, **REAL))
    assert main(["data", "check", "log"]) == 0
    assert "of 1 of 30 episodes are too large to train on, as 1e+30 at step 3 of episode 7" in capsys.readouterr().out


def test_no_value_is_far_in_data_that_is_in_order(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also not the only reward of all, a rare event, or rounding."""
    columns = real_valued()
    for item in columns:
        item["rewards"].fill(0)
        item["observations"][:, 0] *= 1e-9
    columns[4]["rewards"][-1] = 1e6
    columns[5]["observations"][2, 0] = 0.9
    columns[6]["observations"][2, 1] = 1500
    echo.write_store(place / "log", columns, replace(echo.SPACES, **REAL))
    assert main(["data", "check", "log"]) == 0
    assert "far outside" not in capsys.readouterr().out


def test_good_data_needs_no_note(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", "log", "--env", ENV]) == 0
    assert capsys.readouterr().out == "nothing would break training on the 30 episodes of log\n"


def test_only_episodes_of_one_step(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    echo.write_store(place / "log", [one_step(item) for item in echo.episodes(30)])
    assert main(["data", "check", "log"]) == 0
    assert "note: every episode has one step" in capsys.readouterr().out
    assert main(["train", "--data", "log", "--train.steps", "1", "--train.batch-size", "4", "--out", "run"]) == 0
    assert main(["eval", "run"]) == 0


def test_imports_that_are_refused(place: Path, refused: Refused) -> None:
    (place / "log.pkl").write_bytes(b"\x80\x04N.")
    refused(["data", "import", "log.pkl", "--out", "log"], "run code", "--allow-pickle-code")
    refused(["data", "import", "log.pkl", "--out", "log", "--allow-pickle-code"], "no list of dicts")
    refused(["data", "import", "nowhere.npz", "--out", "log"], "no file nowhere.npz")
    refused(["data", "import", "log.pkl", "--out", "log", "--format", "csv"], "csv")
    columns = {"observations": np.zeros(4, int), "actions": np.zeros(4, int), "rewards": np.zeros(4)}
    np.savez("flat.npz", **{**columns, "actions": np.array([0, 1, 7, 0])}, terminals=np.arange(4) == 3)
    refused(["data", "import", "flat.npz", "--out", "log", "--env", ENV], "actions", "outside of Discrete(4)")
    np.savez("endless.npz", **columns)
    refused(["data", "import", "endless.npz", "--out", "log"], "where its episodes end", "terminals", "dones")
    np.savez("empty.npz", offsets=np.array([0, 2, 2, 4]), **columns)
    refused(["data", "import", "empty.npz", "--out", "log"], "episode 1", "no step", "leave empty episodes out")


def test_an_import_says_what_it_did(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"observations": np.zeros(4, int), "actions": np.zeros(4, int), "rewards": np.zeros(4)}
    np.savez("flat.npz", dones=np.arange(4) % 2, values=np.zeros(4), **columns)
    assert main(["data", "import", "flat.npz", "--out", "log"]) == 0
    said = capsys.readouterr()
    assert said.out == "2 episodes, 4 steps in log\n"
    assert [line[:24] for line in said.err.splitlines()] == ["note: dones mix both kin", "note: left out, since th"]
    assert said.err.endswith(": values\n")
    assert main(["data", "import", "flat.npz", "--out", "again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dropped_infos"] == ["values"]


BLOCKED = """
import sys
sys.modules.update({{name: None for name in {modules!r}}})
from rate.cli.main import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize(
    ("modules", "words", "extra"),
    [
        (["minari"], ["data", "check", "me/echo-v0"], "minari"),
        (["minari"], ["train", "--data", "me/echo-v0", "--env", ENV], "minari"),
        (["h5py"], ["data", "import", "log.hdf5", "--out", "log"], "h5py"),
    ],
)
def test_an_extra_that_is_not_installed(modules: list[str], words: list[str], extra: str, place: Path) -> None:
    (place / "log.hdf5").write_bytes(b"")
    before = files(place)
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(modules=modules, words=words)], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"rate: {extra} is not installed; install it with: pip install 'rate-rl[minari]'\n"
    assert files(place) == before
