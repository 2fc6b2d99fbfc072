"""Every hostile run goes to every command that could touch it: one line, nothing imported, nothing foreign written."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rate
from hostile import BROKEN, HOSTILE, MARKER, NAMES, PAYLOAD, WRITES, checkpoint, make
from integration.tiny import config, files
from rate.cli.main import main
from rate.config import edit
from rate.envs.find import find_env
from rate.errors import RateError, StoredCodeError
from rate.experiment import Run, run_state, train_run
from rate.serial import Stored
from rate.training.checkpoint import CARD, load_checkpoint, resolve_checkpoint

TINY = edit(config(), {"train.steps": 4, "train.checkpoint_every": 4, "eval.episodes": 2, "eval.batch": 2})
COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "eval": lambda run: ["eval", str(run)],
    "held out": lambda run: ["eval", str(run), "--held-out"],
    "play": lambda run: ["play", "--run", str(run), "--max-steps", "2"],
    "probe": lambda run: ["probe", str(run), "--episodes", "2"],
    "inspect": lambda run: ["inspect", str(run), "--episodes", "10"],
    "report": lambda run: ["report", str(run), "--out", "report"],
    "resume": lambda run: ["train", "--out", str(run), "--resume", "--train.steps", "4"],
    "from": lambda run: ["train", "--from", str(run), "--out", "new", "--train.steps", "1"],
}
PLAYING = ("eval", "play", "probe", "inspect")


def touches(command: str, name: str) -> bool:
    """Whether a command reads or writes what is hostile; all that load a checkpoint do it by the same lines."""
    if name in BROKEN:
        return command in ("held out", "resume", "from")
    if name in WRITES:
        return command in ("eval", "held out", "probe", "resume")
    return name in NAMES or command in ("eval", "report", "resume")


@pytest.fixture(scope="module")
def trained(data_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    train_run(TINY, out).evaluate()
    return out


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of a user; whatever is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    signal.alarm(60)
    yield tmp_path
    signal.alarm(0)
    assert not {name for name in set(sys.modules) - before if "payload" in name}


def run_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """The exit code of a command that says nothing in a wrong way."""
    capsys.readouterr()
    code = main(words)
    said = capsys.readouterr()
    assert "Traceback" not in said.err + said.out
    assert not {"\x1b", "\x07", "\u202e"} & set(said.out + said.err)
    if code:
        assert code == 2
        lines = [line for line in said.err.splitlines() if not line.startswith("note: ")]
        assert len(lines) == 1 and lines[0].startswith("rate: ") and len(lines[0]) <= 1010, said.err
        assert said.out == ""
    return code


@pytest.mark.parametrize("name", HOSTILE)
def test_every_command(name: str, trained: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (list(sys.path), PAYLOAD)
    codes = {}
    for number, (command, words) in enumerate(COMMANDS.items()):
        if not touches(command, name):
            continue
        run = make(name, trained, here / str(number) / "run")
        codes[command] = run_command(words(run), capsys)
        foreign = files(run.parent / "foreign")
        assert set(foreign.values()) <= {b"mine\n", b""} and len(foreign) in (0, 3), (command, foreign)
    assert not list(here.rglob(MARKER)) and (sys.path, PAYLOAD) == before
    for page in (*here.glob("report/*.md"), *here.glob("report/*.html")):
        assert not {"\x1b", "\x07", "\u202e"} & set(page.read_text()) and "<script" not in page.read_text()
    for command in ("held out",) if name in BROKEN else PLAYING if name in NAMES else ():
        assert codes[command] == 2, command


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_file_imports_nothing(
    name: str, trained: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is loaded all the same: it acts, and is reported."""
    run = make(name, trained, here / "run")
    assert run_command(["eval", str(checkpoint(run))], capsys) == 2
    loaded = rate.load(run)
    loaded.actor(1.0)
    with pytest.raises(RateError):
        loaded.evaluate()
    with pytest.raises(RateError):
        train_run(edit(loaded.config, {"train.steps": 5}), here / "again")  # a configuration that was read, not written
    run_state(TINY, trained)
    assert not list(here.rglob(MARKER))


def test_the_line_holds_the_command_that_allows_it(
    trained: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make("a module inside", trained, here / "run")
    assert main(["eval", "run", "--episodes", "2"]) == 2
    line = capsys.readouterr().err
    assert "to allow it: rate eval run --episodes 2 --env payload:make" in line
    (here / "payload.py").write_text(PAYLOAD + "def make():\n    raise ValueError('made')\n")
    try:
        assert main(["eval", "run", "--episodes", "2", "--env", "payload:make"]) == 2
        assert "made" in capsys.readouterr().err and (here / MARKER).exists()
        with pytest.raises(RateError, match="made"):
            rate.load(run, env="payload:make").evaluate()
    finally:
        sys.modules.pop("payload", None)


def test_a_configuration_edited_by_hand_is_not_resumed(
    trained: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(trained, here / "run"))
    path = run / "config.json"
    path.write_text(path.read_text().replace('"return_scale": 1.0', '"return_scale": 9.0'))
    assert run_command(["train", "--out", "run", "--resume"], capsys) == 2
    with pytest.raises(RateError, match=r"was edited: its data.return_scale is not the one of step_4"):
        train_run(edit(TINY, {"data.return_scale": 9.0}), run, resume=True)


def test_stored_texts_stay_stored(trained: Path) -> None:
    """Through editing, parsing and pickling."""
    import pickle

    loaded = Run.load(trained).config
    for one in (loaded, edit(loaded, {"seed": 3}), pickle.loads(pickle.dumps(loaded))):
        assert isinstance(one.env.name, Stored) and isinstance(one.eval.cases[0], Stored)
    with pytest.raises(StoredCodeError):
        find_env(Stored("os:system")).make()


def test_a_run_of_an_earlier_version(trained: Path, tmp_path: Path) -> None:
    """Cards and marks without a checksum are read."""
    import json

    run = Path(shutil.copytree(trained, tmp_path / "run"))
    path = checkpoint(run) / CARD
    card = json.loads(path.read_text())
    del card["checksum"]
    path.write_text(json.dumps(card))
    with pytest.raises(RateError, match="checksum"):
        Run.load(run)
    path.write_text(json.dumps({**card, "version": 1}))
    (run / "checkpoints" / "last").write_text(path.parent.name + "\n")
    assert load_checkpoint(resolve_checkpoint(run / "checkpoints", "last")).step == Run.load(run).step == 4
