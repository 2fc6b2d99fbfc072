"""`rate collect`, `rate data info` and `rate data export` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rate.cli.main import main


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    path = tmp_path / "set"
    assert main(["collect", "tmaze", "--episodes", "40", "--set", "length=9", "--out", str(path)]) == 0
    assert "40 episodes" in capsys.readouterr().out
    return path


def test_info_for_people(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "info", str(data)]) == 0
    said = capsys.readouterr().out
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    assert lines["episodes"] == "40" and lines["environment"] == "tmaze"
    assert lines["length"].startswith("2 to 8, mean ") and lines["return"] == "1 to 1, mean 1"
    assert lines["action space"] == "Discrete(4)" and "length=9" in lines["options"]
    assert lines["dropped infos"] == "none"
    returns, lengths, actions = (part.splitlines() for part in said.split("\n\n")[1:])
    assert returns == ["returns", f"  1 | {'#' * 40} 40"] and lengths[0] == "lengths" and actions[0] == "actions"
    assert [line.split(" | ")[0].strip() for line in lengths[1:]] == ["2", "3", "4", "5", "6", "7", "8"]
    assert sum(int(line.split()[-1]) for line in actions[1:]) == int(lines["steps"])


def test_info_for_scripts(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "info", str(data), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["episodes"] == 40 and facts["length"]["max"] == 8 and facts["options"]["length"] == 9
    assert (
        facts["histograms"]["returns"] == {"1": 40} and sum(facts["histograms"]["actions"].values()) == facts["steps"]
    )


def test_check_of_good_data(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", str(data), "--env", "tmaze"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("note: every episode returns 1; to ask for a return has no effect")
    assert said[-1].startswith("nothing would break training on the 40 episodes")
    assert main(["data", "check", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["breaks"] == []


def test_export_and_back(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("minari")
    assert main(["data", "export", str(data), "rate/tmaze/oracle-v0"]) == 0
    assert "rate/tmaze/oracle-v0" in capsys.readouterr().out
    assert main(["data", "info", "minari:rate/tmaze/oracle-v0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 40
    assert main(["data", "export", str(data), "rate/tmaze/oracle-v0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
