"""Files that are whole or absent, read behind one boundary and never written through a link."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from rate.errors import CheckpointError, ConfigError, DataError
from rate.system.files import check_own, inside, open_to_write, read_json, reading, shown, write_atomically, write_json


def test_write_and_read(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"x": [1, 2]})
    assert read_json(tmp_path / "a.json") == {"x": [1, 2]}
    write_atomically(tmp_path / "b", b"\x00\xff")
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError):
        write_atomically(path, "new")
    assert [item.name for item in tmp_path.iterdir()] == ["a"] and path.read_text() == "old"


def test_nan_is_no_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_json(tmp_path / "a", {"x": math.nan})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"{'x': 1}"])
def test_files_that_are_damaged(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        read_json(tmp_path / "a", DataError)


def test_files_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        read_json(tmp_path / "a")
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_json(tmp_path)


def test_the_directory_is_synced_and_need_not_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine, synced = os.fsync, list[bool]()

    def fsync(handle: int) -> None:
        directory = stat.S_ISDIR(os.fstat(handle).st_mode)
        synced.append(directory)
        if directory:
            raise OSError(22, "Invalid argument")
        genuine(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomically(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
    assert synced == ([False, True] if os.name == "posix" else [False])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b"9" * 5_000, "integer string"),
        (b'{"a": "\x1b[31m"', "cannot be read"),
    ],
)
def test_a_hostile_json_is_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        read_json(tmp_path / "a", DataError)
    line = str(caught.value)
    assert len(line) < 600 and line.isprintable()


@pytest.mark.parametrize("reason", [MemoryError(), OverflowError("too big"), KeyError("x"), RuntimeError("h5: bad")])
def test_the_boundary_turns_what_a_file_causes_into_one_error(reason: Exception) -> None:
    with pytest.raises(DataError, match="the-file cannot be read"), reading("the-file", DataError):
        raise reason


def test_the_boundary_lets_our_own_errors_and_interrupts_through() -> None:
    with pytest.raises(ConfigError, match="ours"), reading("f"):
        raise ConfigError("ours")
    with pytest.raises(KeyboardInterrupt), reading("f"):
        raise KeyboardInterrupt


def test_foreign_text_is_shown_without_escapes_and_cut() -> None:
    assert shown("a\x1b[2Jb\nc\u202ed") == "a?[2Jb c?d"
    assert len(shown("x" * 10_000)) == 200 and shown("x" * 10_000).endswith("...")


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "/etc/passwd", "a/b", "a\\b", "a\0b", "C:a"])
def test_a_name_in_a_file_stays_inside(name: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a plain name"):
        inside(tmp_path, name)
    assert inside(tmp_path, "step_3") == tmp_path / "step_3"


@pytest.mark.parametrize("mode", ["ab", "a+b"])
def test_nothing_is_appended_through_a_link(mode: str, tmp_path: Path) -> None:
    (tmp_path / "foreign").write_text("theirs")
    (tmp_path / "ours").symlink_to(tmp_path / "foreign")
    with pytest.raises(CheckpointError, match="symbolic link"):
        open_to_write(tmp_path / "ours", mode)
    assert (tmp_path / "foreign").read_text() == "theirs"


@pytest.mark.parametrize("link", ["a", ".a.tmp"])
def test_writing_replaces_a_link_and_does_not_follow_it(link: str, tmp_path: Path) -> None:
    (tmp_path / "foreign").write_text("theirs")
    (tmp_path / link).symlink_to(tmp_path / "foreign")
    write_json(tmp_path / "a", 1)
    assert (tmp_path / "foreign").read_text() == "theirs"
    assert not (tmp_path / "a").is_symlink() and json.loads((tmp_path / "a").read_text()) == 1


def test_a_linked_directory_below_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="symbolic link"):
        check_own(tmp_path / "run" / "checkpoints" / "step_1", tmp_path / "run")
    (tmp_path / "mine").symlink_to(tmp_path / "run")  # a link to the run itself is the user's own choice
    check_own(tmp_path / "mine" / "config.json", tmp_path / "mine")
