"""Places that two processes share, that a killed one left, or that hold only a part of a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integration.tiny import assert_same_run, config, words
from rate.cli.main import main
from rate.data.store import StoreWriter, TrajectoryStore, is_store
from rate.envs import ENVS
from rate.envs.spec import CollectRequest
from rate.errors import CheckpointError, DataError
from rate.experiment import Run, collecting, load, train_run
from rate.experiment.data import check_environment, collect_once, shares_seeds

REQUEST = CollectRequest(episodes=4, seed=3, kwargs={"length": 9})
TMAZE = ENVS.get("tmaze")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for data that nobody has used."""
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def step_directory(run: Path) -> Path:
    return run / "checkpoints" / (run / "checkpoints" / "last").read_text().split()[0]


# ------------------------------------------------------------------------------------------------ collecting


def test_data_is_collected_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["collect", "tmaze", "--episodes", "4", "--seed", "3", "--set", "length=9", "--json"]
    assert main(asked) == 0
    path = collect_once(TMAZE, REQUEST, lambda *_: pytest.fail("it is collected again"))
    message = json.loads(capsys.readouterr().out)
    assert message.pop("seconds") > 0
    assert message == {
        "environment": "tmaze",
        "path": str(path),
        "episodes": 4,
        "steps": int(TrajectoryStore.open(path).lengths.sum()),
    }
    assert main(asked) == 0
    assert [inside.name for inside in home.iterdir()] == [path.name]


def test_what_a_killed_process_left_is_in_the_way(home: Path) -> None:
    path = collect_once(TMAZE, REQUEST)
    (path / "card.json").unlink()
    with pytest.raises(DataError, match=r"delete it") as refusal:
        collect_once(TMAZE, REQUEST)
    assert str(path) in str(refusal.value)
    assert [inside.name for inside in home.iterdir()] == [path.name]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "unfinished"])
def test_another_process_was_faster(whole: bool, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = collecting.collect

    def slow(spec: Any, request: Any, path: Path, on_episode: Any) -> None:
        genuine(spec, request, path, on_episode)
        other = genuine(spec, request, home / path.name)
        if not whole:
            (other.path / "card.json").unlink()

    monkeypatch.setattr(collecting, "collect", slow)
    if whole:
        assert is_store(collect_once(TMAZE, REQUEST))
    else:
        with pytest.raises(DataError, match="delete it"):
            collect_once(TMAZE, REQUEST)
    assert len(list(home.iterdir())) == 1


def test_a_collection_that_fails_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect_once(TMAZE, REQUEST, stop)
    assert list(home.iterdir()) == []


def test_spaces_that_depend_on_an_option(home: Path) -> None:
    """The options that the card names reach the environment, if it takes them and the data is its own."""
    asked: list[dict[str, Any]] = []

    def make(length: int = 9) -> Any:
        asked.append({"length": length})
        return TMAZE.make(length=length)

    store = TrajectoryStore.open(collect_once(TMAZE, replace(REQUEST, kwargs={"length": 12})))
    check_environment(store, replace(TMAZE, make=make))
    check_environment(store, replace(TMAZE, make=make, name="other"))
    assert asked == [{"length": 12}, {"length": 9}]


def own_data(path: Path, seeds: list[int], home: Path) -> Path:
    source = TrajectoryStore.open(collect_once(TMAZE, replace(REQUEST, episodes=len(seeds))))
    with StoreWriter(path, spaces=source.spaces, environment="tmaze", options={}, generator="test") as writer:
        for episode, seed in zip(source, seeds, strict=True):
            writer.add(replace(episode, seed=seed))
    return path


def test_a_note_where_data_and_evaluation_share_seeds(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = own_data(tmp_path / "own", [3, 4, 5, -1], home)
    judge = config().eval
    assert shares_seeds(TrajectoryStore.open(path), judge)
    assert not shares_seeds(TrajectoryStore.open(path), replace(judge, seed=1))
    asked = [*words(tmp_path / "run", steps=1), "--data.path", str(path)]
    assert main(asked) == 0
    message = "note: the data holds seeds that evaluation uses; set --eval.seed to another value\n"
    assert capsys.readouterr().err == message
    assert main([*words(tmp_path / "b", steps=1), "--data.path", str(path), "--eval.seed", "1"]) == 0
    assert capsys.readouterr().err == ""
    alone = ["train", "--data", str(path), "--env=", "--train.steps", "1", "--out", str(tmp_path / "c")]
    assert main(alone) == 0  # where nothing is played, no seed is used
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------------------------------ runs


HOLD = """
import sys, time
from pathlib import Path
from rate.training.run_dir import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_one_process_trains_in_a_run(run: Path, refused: Callable[..., str]) -> None:
    """The other process is killed with -9, and its lock is gone with it."""
    pytest.importorskip("fcntl")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(run)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "held\n"
            refused(["train", "--out", str(run), "--resume"], f"another process trains in {run}")
            with pytest.raises(CheckpointError, match="another process"):
                train_run(config(), run, resume=True)
        finally:
            other.kill()
            other.wait()
    assert main(["train", "--out", str(run), "--resume"]) == 0


def test_the_command_is_kept(tmp_path: Path, run: Path) -> None:
    asked = words(tmp_path / "cli", steps=1)
    assert main(asked) == 0
    assert json.loads((tmp_path / "cli" / "environment.json").read_text())["command"] == ["rate", *asked]
    assert "command" not in json.loads((run / "environment.json").read_text())


def test_weights_alone_can_act_but_not_be_trained(run: Path, tmp_path: Path, finished: Path) -> None:
    (step_directory(run) / "training.safetensors").unlink()
    alone = Path(shutil.copytree(step_directory(run), tmp_path / "alone"))
    for place in (run, alone):
        loaded = load(place)
        assert loaded.step == 30
        assert loaded.actor(1.0).act(np.zeros(4, np.float32)) in range(4)
    with pytest.raises(CheckpointError, match=r"training\.safetensors"):
        train_run(config(), run, resume=True)


@pytest.mark.parametrize("copied", [True, False], ids=["copied", "in its run"])
def test_a_checkpoint_alone_is_evaluated_without_a_record(
    copied: bool, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = step_directory(run)
    if copied:
        place = Path(shutil.copytree(place, tmp_path / "alone"))
    before = sorted(place.iterdir())
    assert main(["eval", str(place), "--json", "--skip-done"]) == 0
    said = capsys.readouterr()
    assert [(row["case"], row["episodes"]) for row in json.loads(said.out)] == [("length=9", 8)]
    assert said.err == f"note: {place} is a checkpoint on its own; nothing is recorded\n"
    assert sorted(place.iterdir()) == before and not (run / "eval.jsonl").exists()


def test_what_is_done_is_skipped(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def evaluated(*more: str) -> list[str]:
        assert main(["eval", str(run), "--skip-done", "--json", *more]) == 0
        said = capsys.readouterr()
        names = [row["case"] for row in json.loads(said.out)]
        asked = max(1, more.count("--set"))
        skipped = f"note: {asked - len(names)} case(s) skipped: recorded already\n"
        assert said.err == (skipped if len(names) < asked else "")
        return names

    assert evaluated() == ["length=9"]
    assert evaluated() == []
    assert evaluated("--episodes", "4") == []
    assert evaluated("--set", "length=9", "--set", "length=12") == ["length=12"]
    assert evaluated("--episodes", "9") == ["length=9"]
    assert evaluated("--seed", "1") == ["length=9"]
    assert evaluated("--target-return", "0.5") == ["length=9"]
    assert evaluated("--checkpoint", "best") == ["length=9"]
    with open(run / "evaluations.jsonl", "a") as file:
        file.write('[1]\n{"case": "length=15", "chec')
    assert evaluated("--set", "length=15") == ["length=15"]


def test_older_records_count_too(run: Path) -> None:
    old = {"case": "length=9", "checkpoint": "last", "step": 30, "episodes": 8}
    (run / "evaluations.jsonl").write_text(json.dumps(old) + "\n")
    assert Run.load(run).evaluate(skip_done=True) == []
    assert len(Run.load(run).evaluate()) == 1


def test_one_case_as_text(run: Path) -> None:
    [result] = Run.load(run).evaluate("length=12")
    assert result.case.name == "length=12"


def test_a_lock_is_no_obstacle_to_a_new_run(tmp_path: Path, finished: Path) -> None:
    """A run that was killed before its configuration was written has left a hidden file at most."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").touch()
    assert main(words(tmp_path / "run")) == 0
    assert_same_run(tmp_path / "run", finished)
    assert os.path.getsize(tmp_path / "run" / ".lock") == 0
