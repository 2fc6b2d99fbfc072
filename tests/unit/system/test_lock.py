"""One process holds a lock; a disk that has none is refused, unless the user says that it does not matter."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from rate.cli.main import main
from rate.errors import CheckpointError
from rate.system.lock import held


def refusing(number: int) -> Any:
    def flock(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    return flock


def test_it_is_held_once(tmp_path: Path) -> None:
    with held(tmp_path / "lock") as first, held(tmp_path / "lock") as second:
        assert first and not second
    with held(tmp_path / "lock") as again:
        assert again


@pytest.mark.parametrize("number", [errno.EACCES, errno.EAGAIN])
def test_a_network_disk_says_in_two_ways_that_it_is_taken(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(number))
    with held(tmp_path / "lock") as ours:
        assert not ours


def test_a_disk_without_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(errno.ENOSYS))
    with pytest.raises(CheckpointError, match="has no locks"), held(tmp_path / "lock"):
        pass
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    assert main(["collect", "tmaze", "--episodes", "2", "--set", "length=5", "--out", str(tmp_path / "set")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "has no locks (Function not implemented)" in said and "RATE_LOCKS=off" in said
    monkeypatch.setenv("RATE_LOCKS", "off")
    with held(tmp_path / "lock") as ours:
        assert ours
