"""Whatever a user gets wrong: exit code 2, one line that says what, and nothing on disk is touched."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import rate.system.files
from integration.tiny import assert_same_run, config, files, words
from rate.cli.main import main
from rate.data.columns import crc32
from rate.data.store import StoreWriter
from rate.envs import ENVS
from rate.envs.spec import CollectRequest, spaces_of
from rate.experiment import Run, prepare_data, train_run
from rate.training.checkpoint import sealed
from rate.types import Spaces, Trajectory

Refused = Callable[..., str]

# ------------------------------------------------------------------------------------------------ words


COMMANDS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "command": (["trian"], ("unknown command 'trian'", "'train'")),
    "command of a group": (["data", "inf"], ("'info'",)),
    "recipe": (["train", "tmaze/ratte"], ("unknown recipe", "'tmaze/rate'")),
    "no recipe": (["train", "--resume"], ("which recipe",)),
    "environment": (["collect", "tmazze"], ("unknown environment", "'tmaze'")),
    "listed kind": (["list", "pets"], ("pets",)),
    "episodes to collect": (["collect", "tmaze", "--episodes", "0"], ("episodes must be positive",)),
    "seed to collect": (["collect", "tmaze", "--seed", "-1"], ("--seed is -1",)),
    "an option for a place": (["train", "tmaze/rate", "--out", "--resume"], ("--out needs a value",)),
    "a file for a directory of figures": (["bench", "--json", "."], ("is a directory",)),
    "expert option": (["collect", "tmaze", "--set", "lenght=9"], ("did you mean 'length'",)),
    "no value of an expert option": (["collect", "tmaze", "--set", "length"], ("name=value",)),
    "length to collect": (["collect", "tmaze", "--set", "length=1"], ("at least 3",)),
    "data to show": (["data", "info", "nowhere"], ("no data set at nowhere",)),
    "nothing to report": (["report"], ("no run directory",)),
    "no run to report": (["report", "nowhere"], ("nowhere does not exist",)),
    "no run to evaluate": (["eval", "nowhere"], ("nowhere is not a run directory",)),
    "nothing to evaluate": (["eval"], ("required", "rate eval --help")),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_command(case: str, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, parts = COMMANDS[case]
    refused(arguments, *parts)


OPTIONS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "environment": (["--env.name", "tmazze"], ("unknown environment", "'tmaze'")),
    "model": (["--model.name", "ratte"], ("unknown model", "'rate'")),
    "valve": (["--model.valve", "ca3"], ("unknown valve", "'ca2'")),
    "activation": (["--model.valve-activation", "rellu"], ("unknown activation", "'relu'")),
    "objective": (["--objective", "behavior-cloning"], ("unknown objective", "'behaviour-cloning'")),
    "objective of another head": (["--objective", "cql"], ("cql", "model.head = value")),
    "a fact that is not told": (["--data.oracle", "clue"], ("rate is told nothing", "oracle-dt")),
    "a fact that is not there": (["--data.oracle", "clew"], ("unknown oracle of tmaze", "'clue'")),
    "field": (["--train.stepz", "3"], ("--train.stepz", "--train.steps")),
    "field of another model": (["--model.kernel-size", "3"], ("--model.kernel-size",)),
    "type": (["--train.steps", "many"], ("--train.steps", "many")),
    "type of a fraction": (["--train.steps", "1.5"], ("--train.steps", "1.5")),
    "choice": (["--train.schedule", "warm"], ("--train.schedule", "warm")),
    "K and the window": (
        ["--model.segment-len", "4"],
        ("model.segment_len = 4", "train.window = 9", "window of 8", "segments of 3"),
    ),
    "no episodes": (["--data.episodes", "0"], ("data.episodes",)),
    "no episodes to evaluate": (["--eval.episodes", "0"], ("eval.episodes",)),
    "a case": (["--eval.cases", "lenght=9"], ("'lenght'", "length")),
    "no steps": (["--train.steps", "0"], ("train.steps",)),
    "seed": (["--seed", "-1"], ("seed is -1",)),
    "a seed that is too large": (["--seed", str(2**63)], ("seed is", "below 2**63")),
    "seed of the evaluation": (["--eval.seed", "-1"], ("eval.seed is -1",)),
    "betas": (["--train.betas", "2", "3"], ("train.betas is (2.0, 3.0)",)),
    "clip": (["--train.clip", "nan"], ("train.clip is nan",)),
    "noise": (["--model.memory-noise", "nan"], ("model.memory_noise is nan",)),
    "no episodes to evaluate while training": (["--train.evaluate-episodes", "0"], ("train.evaluate_episodes is 0",)),
    "learning rate": (["--train.learning-rate", "-1"], ("train.learning_rate",)),
    "bptt": (["--train.bptt-segments", "0"], ("train.bptt_segments",)),
    "steps left out of whole windows": (["--train.thinned"], ("train.thinned goes with train.windows",)),
    "device": (["--train.device", "abacus"], ("'abacus'",)),
    "a device that holds nothing": (["--train.device", "meta"], ("'meta' cannot be used",)),
    "episodes without end": (["--data.episodes", str(2**62)], ("episodes is 4611686018427387904; it must be at most",)),
    "an option of the command": (["--resmue"], ("did you mean --resume?",)),
    "threads": (["--threads", "some"], ("--threads", "'some'")),
    "threads below zero": (["--threads", "-1"], ("--threads is -1",)),
    "no data": (["--data.path", "nowhere"], ("no data set at nowhere",)),
    "expert option": (["--data.options", "lenght=9"], ("did you mean 'length'",)),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_option_of_train(case: str, refused: Refused, tmp_path: Path) -> None:
    arguments, parts = OPTIONS[case]
    refused([*words(tmp_path / "run"), *arguments], *parts)


def test_values_refuse_windows_that_leave_steps_out_before_there_is_a_run(refused: Refused, tmp_path: Path) -> None:
    thinned = ["--train.windows", "3", "9", "--train.thinned"]
    sizes = ["--train.window", "9", "--train.steps", "1", "--data.episodes", "4", "--data.options", "length=9"]
    refused(["train", "tmaze/cql-lstm", *sizes, *thinned, "--out", str(tmp_path / "run")], "train.thinned leaves out")
    assert not (tmp_path / "run").exists()


ORACLE = ["train", "tmaze/oracle-dt", "--model.context", "9", "--train.window", "9", "--train.steps", "1"]


def test_data_without_the_fact_that_the_oracle_is_told(refused: Refused, tmp_path: Path) -> None:
    spec = ENVS.get("tmaze")
    request = CollectRequest(episodes=4, seed=0, kwargs={"length": 9})
    with StoreWriter(
        tmp_path / "data", spaces=spaces_of(spec), environment="tmaze", options={}, generator="test"
    ) as writer:
        for episode in spec.expert(request):
            writer.add(replace(episode, infos={}))
    command = [*ORACLE, "--data.path", str(tmp_path / "data"), "--out", str(tmp_path / "run")]
    refused(command, "does not hold 'clue'", "collect it")
    refused([*ORACLE, "--data.oracle", "", "--out", str(tmp_path / "run")], "oracle-dt is told", "data.oracle")


EVALUATIONS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "no episodes": (["--episodes", "0"], ("eval.episodes",)),
    "batch": (["--batch", "0"], ("eval.batch",)),
    "seed": (["--seed", "-1"], ("eval.seed is -1",)),
    "case": (["--set", "lenght=9"], ("tmaze", "'lenght'", "length")),
    "length": (["--set", "length=1"], ("at least 3",)),
    "text for a length": (["--set", "length=long"], ("whole number",)),
    "second case": (["--set", "length=9", "--set", "length=x"], ("whole number",)),
    "checkpoint": (["--checkpoint", "step_7"], ("'step_7'",)),
    "threads": (["--threads", "-1"], ("--threads is -1",)),
    "device": (["--device", "abacus"], ("'abacus'",)),
}


@pytest.mark.parametrize("case", EVALUATIONS)
def test_option_of_eval(case: str, refused: Refused, run: Path) -> None:
    arguments, parts = EVALUATIONS[case]
    refused(["eval", str(run), *arguments], *parts)


def test_a_process_says_one_line(tmp_path: Path) -> None:
    """In a process of its own, where standard error is a pipe and bars have begun."""
    command = [sys.executable, "-m", "rate", "collect", "tmaze", "--set", "length=2", "--out", str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("rate: tmaze: length") and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------- data


@pytest.fixture
def data(tmp_path: Path, data_home: Path) -> Path:
    """A copy of the data set, to be damaged."""
    source = prepare_data("tmaze", config().data).path
    return Path(shutil.copytree(source, tmp_path / "set"))


def column(data: Path, name: str) -> Path:
    return next(data.glob(f"shard-*/{name}.npy"))


def with_nan(data: Path) -> None:
    """A value that is not finite, with checksums that agree."""
    path = column(data, "observations")
    values = np.load(path)
    values[5, 1] = np.nan
    np.save(path, values)
    card = json.loads((data / "card.json").read_text())
    card["shards"][0]["files"]["observations.npy"]["crc32"] = crc32(path)
    (data / "card.json").write_text(json.dumps(card))


def edit_card(data: Path, **changes: Any) -> None:
    card = json.loads((data / "card.json").read_text())
    (data / "card.json").write_text(json.dumps({**card, **changes}))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGES: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "nan": (with_nan, ("finite",)),
    "no episodes": (lambda data: edit_card(data, episodes=0, shards=[]), ("episodes",)),
    "truncated": (lambda data: cut(column(data, "actions")), ("actions.npy",)),
    "truncated card": (lambda data: cut(data / "card.json"), ("card.json cannot be read",)),
    "a flipped bit": (lambda data: flip(column(data, "rewards")), ("rewards.npy is damaged",)),
    "version": (lambda data: edit_card(data, version=99), ("version 99",)),
    "format": (lambda data: edit_card(data, format="parquet"), ("not the card",)),
    "no card": (lambda data: (data / "card.json").unlink(), ("not a data set",)),
    "no shard": (lambda data: shutil.rmtree(data / "shard-00000"), ("missing",)),
}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_data(case: str, data: Path, tmp_path: Path, refused: Refused) -> None:
    damage, parts = DAMAGES[case]
    assert main([*words(tmp_path / "sound", steps=1), "--data.path", str(data)]) == 0
    damage(data)
    refused([*words(tmp_path / "run"), "--data.path", str(data)], *parts)
    refused(["data", "info", str(data)], *parts)


def test_data_of_another_environment(tmp_path: Path, refused: Refused) -> None:
    other = Spaces(observation=gym.spaces.Box(-1, 1, (3,), np.float32), action=gym.spaces.Discrete(2))
    episode = Trajectory(
        observations=np.zeros((5, 3), np.float32),
        actions=np.zeros(4, np.int64),
        rewards=np.ones(4, np.float32),
        terminations=np.array([0, 0, 0, 1], bool),
        truncations=np.zeros(4, bool),
    )
    with StoreWriter(tmp_path / "set", spaces=other, environment="x", options={}, generator="x") as writer:
        writer.add(episode)
    refused([*words(tmp_path / "run"), "--data.path", str(tmp_path / "set")], "observations", "'tmaze'", "differ")


def test_data_in_the_way(data: Path, refused: Refused) -> None:
    refused(["collect", "tmaze", "--episodes", "4", "--out", str(data)], "already holds a data set")


@pytest.mark.parametrize("command", ["train", "info", "export"])
def test_missing_minari(
    command: str, data: Path, tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    arguments = {
        "train": [*words(tmp_path / "run"), "--data.path", "minari:mujoco/hopper/medium-v0"],
        "info": ["data", "info", "minari:mujoco/hopper/medium-v0"],
        "export": ["data", "export", str(data), "rate/tmaze-v0"],
    }[command]
    line = refused(arguments)
    assert line == "rate: minari is not installed; install it with: pip install 'rate-rl[minari]'"


# ------------------------------------------------------------------------------------------- checkpoints


def checkpoint_of(run: Path) -> Path:
    return run / "checkpoints" / (run / "checkpoints" / "last").read_text().split()[0]


def edit_checkpoint(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = checkpoint_of(run) / "checkpoint.json"
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(sealed(card)))  # else the edit itself would be what is noticed


def other_weights(run: Path) -> None:
    """Weights of another width, with checksums that agree."""
    import zlib

    path = checkpoint_of(run) / "weights.safetensors"
    save_file(
        {
            name: torch.cat([value, value], -1) if value.dim() else value[None]
            for name, value in load_file(path).items()
        },
        path,
    )
    edit_checkpoint(run, lambda card: card["checksums"].update({path.name: zlib.crc32(path.read_bytes())}))


CHECKPOINTS: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "truncated weights": (lambda run: cut(checkpoint_of(run) / "weights.safetensors"), ("weights", "damaged")),
    "truncated optimiser": (lambda run: cut(checkpoint_of(run) / "training.safetensors"), ("training", "damaged")),
    "empty weights": (lambda run: (checkpoint_of(run) / "weights.safetensors").write_bytes(b""), ("damaged",)),
    "no weights": (lambda run: (checkpoint_of(run) / "weights.safetensors").unlink(), ("weights", "not exist")),
    "truncated card": (lambda run: cut(checkpoint_of(run) / "checkpoint.json"), ("checkpoint.json",)),
    "version": (lambda run: edit_checkpoint(run, lambda card: card.update(version=99)), ("version 99", "version 2")),
    "architecture": (
        lambda run: edit_checkpoint(run, lambda card: card["config"]["model"].update(width=32)),
        ("another architecture",),
    ),
    "more layers": (
        lambda run: edit_checkpoint(run, lambda card: card["config"]["model"].update(layers=2)),
        ("another architecture",),
    ),
    "other shapes": (other_weights, ("another architecture",)),
    "a field of another version": (
        lambda run: edit_checkpoint(run, lambda card: card["config"]["train"].update(warp=9)),
        ("TrainConfig has no field 'warp'", "another version"),
    ),
    "a model that is not there": (
        lambda run: edit_checkpoint(run, lambda card: card["config"]["model"].update(type="GruConfig")),
        ("unknown configuration 'GruConfig'",),
    ),
    "no model": (lambda run: edit_checkpoint(run, lambda card: card["config"].pop("model")), ("model",)),
    "no configuration": (lambda run: edit_checkpoint(run, lambda card: card.pop("config")), ("config",)),
    "a list for a configuration": (lambda run: edit_checkpoint(run, lambda card: card.update(config=[1])), ("list",)),
    "a word for a number": (
        lambda run: edit_checkpoint(run, lambda card: card["config"]["train"].update(steps="many")),
        ("configuration",),
    ),
    "other spaces": (lambda run: edit_checkpoint(run, lambda card: card.update(spaces={"observation": 3})), ()),
    "not ours": (lambda run: edit_checkpoint(run, lambda card: card.update(format="else")), ("not a checkpoint",)),
    "random json": (lambda run: (checkpoint_of(run) / "checkpoint.json").write_text("[1, 2]"), ("not a checkpoint",)),
    "no checkpoints": (lambda run: shutil.rmtree(run / "checkpoints"), ("no checkpoint 'last'",)),
    "pointer to nowhere": (lambda run: (run / "checkpoints" / "last").write_text("step_9"), ("no checkpoint 'last'",)),
    "pointer that is empty": (lambda run: (run / "checkpoints" / "last").write_text(""), ("no checkpoint 'last'",)),
    "pointer that is binary": (lambda run: (run / "checkpoints" / "last").write_bytes(b"\xff\x00"), ("checkpoint",)),
    "no config.json": (lambda run: (run / "config.json").unlink(), ("not a run directory",)),
}


@pytest.mark.parametrize("case", [case for case in CHECKPOINTS if case != "truncated optimiser"])
def test_checkpoint_to_evaluate(case: str, run: Path, refused: Refused) -> None:
    damage, parts = CHECKPOINTS[case]
    damage(run)
    refused(["eval", str(run)], *parts)


RESUMED = (
    "truncated weights",
    "truncated optimiser",
    "truncated card",
    "version",
    "other shapes",
    "random json",
    "pointer that is empty",
)


@pytest.mark.parametrize("case", RESUMED)
def test_checkpoint_to_resume(case: str, run: Path, refused: Refused) -> None:
    damage, parts = CHECKPOINTS[case]
    damage(run)
    refused(["train", "--out", str(run), "--resume"], *parts)


@pytest.mark.parametrize("content", ["[1, 2]", "{}", '{"type": "RunConfig"}', "half of {", '{"seed": {}}', '"text"'])
def test_config_that_is_not_ours(content: str, run: Path, refused: Refused) -> None:
    (run / "config.json").write_text(content)
    refused(["train", "--out", str(run), "--resume"])
    refused(words(run, "--resume"))
    refused(["report", str(run), "--out", str(run / "report")], "config.json")


# ------------------------------------------------------------------------------------------- directories


def test_run_that_exists(run: Path, refused: Refused) -> None:
    refused(words(run), "exists already", "--resume", "--out")


def test_directory_of_something_else(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("It was a dark and stormy night")
    for more in ([], ["--resume"]):
        refused(words(tmp_path / "thesis", *more), "not a run directory")
    refused(["train", "--out", str(tmp_path / "thesis"), "--resume"], "not a run directory")
    refused(["eval", str(tmp_path / "thesis")], "not a run directory")
    refused(["report", str(tmp_path / "thesis"), "--out", str(tmp_path / "report")], "not a run directory")


def test_file_where_the_run_should_be(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "file").write_text("precious")
    for more in ([], ["--resume"]):
        refused(words(tmp_path / "file", *more), "file")
    refused(words(tmp_path / "file" / "run"), "file")
    refused(["eval", str(tmp_path / "file")], "file")
    refused(["report", str(tmp_path / "file")], "file")


def test_an_empty_directory_will_do(tmp_path: Path, finished: Path) -> None:
    (tmp_path / "run").mkdir()
    assert main(words(tmp_path / "run")) == 0
    assert_same_run(tmp_path / "run", finished)


def test_no_permission(tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.geteuid() == 0:  # whom nothing is forbidden
        genuine = Path.mkdir

        def mkdir(path: Path, *args: Any, **kwargs: Any) -> None:
            if locked in path.parents:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            genuine(path, *args, **kwargs)

        monkeypatch.setattr(Path, "mkdir", mkdir)
    refused(words(locked / "run"), "permission denied", "choose another directory")
    refused(["collect", "tmaze", "--episodes", "4", "--out", str(locked / "set")], "permission")


# ---------------------------------------------------------------------------------------------- full disks


class FullDisk:
    """Refuses every write of a file whose name ends so, after the first ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, suffix: str, after: int) -> None:
        self.suffix, self.left = suffix, after
        self.whole = rate.system.files.open_to_write
        monkeypatch.setattr(rate.system.files, "open_to_write", self.open)

    def open(self, path: Path, mode: str) -> Any:
        file = self.whole(path, mode)
        if not str(path).endswith(self.suffix):
            return file
        self.left -= 1
        return file if self.left >= 0 else _NoRoom(file)


class _NoRoom:
    """Takes half of what it is given."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> _NoRoom:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, content: bytes) -> None:
        self.file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["weights.safetensors", "training.safetensors", "checkpoint.json", "best", "last"])
def test_disk_full_while_saving(
    name: str, tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a later checkpoint (the second `best` of validation): the one before it stays, and resuming ends as ever."""
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        FullDisk(patch, f".{name}.tmp", after=1 if name == "best" else 2)  # one is written before the first step
        assert main(words(out)) == 2
    line = capsys.readouterr().err
    assert line.startswith("rate: ") and line.count("\n") == 1 and "the disk is full" in line and "--resume" in line
    assert 0 < Run.load(out).step < 30
    assert not [path for path in files(out / "checkpoints") if "tmp" in path]
    assert main(["train", "--out", str(out), "--resume"]) == 0
    assert_same_run(out, finished)


def test_disk_full_before_the_run_begins(tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    FullDisk(monkeypatch, ".config.json.tmp", after=0)
    refused(words(tmp_path / "run"), "disk is full")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB that really fills up."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except OSError as reason:
        pytest.skip(f"no disk to fill: {reason}")
    if done.returncode:
        pytest.skip(f"no disk to fill: mount says {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_really_full(small_disk: Path, finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = sum(len(content) for content in files(checkpoint_of(finished)).values())
    filler = small_disk / "filler"
    filler.write_bytes(bytes((1 << 20) - 3 * checkpoint // 2 - (48 << 10)))
    assert main(words(small_disk / "run")) == 2
    line = capsys.readouterr().err
    assert line.startswith("rate: ") and line.count("\n") == 1 and "disk is full" in line
    assert 0 < Run.load(small_disk / "run").step < 30
    filler.unlink()
    assert main(["train", "--out", str(small_disk / "run"), "--resume"]) == 0
    assert_same_run(small_disk / "run", finished)


def test_disk_full_while_recording_episodes(small_disk: Path, finished: Path) -> None:
    """Half a record is not left behind: what is appended later stands on lines of its own."""
    run = Path(shutil.copytree(finished, small_disk / "run"))
    assert main(["eval", str(run), "--episodes", "5"]) == 0
    filler = small_disk / "filler"
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    filler.write_bytes(bytes(free - (8 << 10)))
    before = (run / "eval.jsonl").read_bytes()
    assert main(["eval", str(run), "--episodes", "400", "--batch", "400"]) == 2
    assert (run / "eval.jsonl").read_bytes() == before
    filler.unlink()
    assert main(["eval", str(run), "--episodes", "5"]) == 0
    assert len([json.loads(line) for line in (run / "eval.jsonl").read_text().splitlines()]) == 10


def test_divergence_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    code = main(words(out, learning_rate=1e30, warmup_steps=0, clip=0, validate_every=1, checkpoint_every=1))
    line = capsys.readouterr().err
    assert code == 2
    assert line.startswith("rate: the weights are") and line.count("\n") == 1 and str(out) in line
    assert "the last good checkpoint, of step 0," in line and Run.load(out).step == 0


def test_the_table_can_fail(tmp_path: Path, finished: Path) -> None:
    """The run that all of these cases damage is in order."""
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    assert main(["eval", str(run)]) == 0
    assert main(["report", str(run), "--out", str(tmp_path / "report")]) == 0
    assert train_run(config(), run, resume=True).step == 30
