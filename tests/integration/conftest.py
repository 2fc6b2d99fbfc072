"""One thread, one place for collected data, and one finished run to copy from."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from integration import echo
from integration.tiny import config
from rate.experiment import train_run

torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """$RATE_DATA of these tests and of the processes that they start."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("data")
        patch.setenv("RATE_DATA", str(home))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield home


@pytest.fixture(scope="session")
def finished(data_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny run, trained to its end; not to be changed."""
    out = tmp_path_factory.mktemp("finished") / "run"
    train_run(config(), out)
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be damaged."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """refused(words, *parts): exit code 2, one line that holds the parts, and no file is other than before."""
    from integration.tiny import files
    from rate.cli.main import main

    def check(words: list[str], *parts: str) -> str:
        before = files(tmp_path)
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        assert code == 2, said
        assert said.out == ""
        lines = said.err.splitlines()
        assert len(lines) == 1, said.err
        assert lines[0].startswith("rate: ") and len(lines[0]) > 10
        for part in parts:
            assert part in lines[0]
        assert files(tmp_path) == before
        return lines[0]

    return check


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of a user, with an environment in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "my_echo.py").write_text(echo.SOURCE)
    yield tmp_path
    for name in ("my_echo", "my_room"):
        sys.modules.pop(name, None)
