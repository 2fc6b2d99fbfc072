"""A user's day: an environment and a data set that the library does not know, and no file of it is edited."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from integration import echo
from rate.cli.main import main
from rate.cli.train import read_arguments
from rate.config import RunConfig
from rate.data.open import open_data
from rate.envs.batch import stack_trees
from rate.experiment import Run, train_run
from rate.experiment.data import cut_windows, prepare_data
from rate.system.signals import Interrupted

Refused = Callable[..., str]
SMALL = ["--model.layers", "1", "--model.width", "32", "--model.heads", "2", "--model.head-width", "16"]
QUICK = ["--train.batch-size", "32", "--train.learning-rate", "3e-3", "--train.warmup-steps", "10"]
CHANCE = 0.25


@pytest.fixture
def store(place: Path) -> str:
    echo.write_store(place / "log", echo.episodes(60))
    return "log"


def config_of(*words: str) -> RunConfig:
    return read_arguments(words).config


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("bc-lstm", [*QUICK, "--train.steps", "300"]),
        pytest.param("rate", ["--train.steps", "800"], marks=pytest.mark.slow),
    ],
)
def test_the_whole_day(model: str, options: list[str], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("minari")
    echo.write_minari("me/echo-v0", 400)
    assert main(["data", "check", "me/echo-v0", "--env", "my_echo:make"]) == 0
    assert "nothing would break" in capsys.readouterr().out
    trained = ["train", "--data", "me/echo-v0", "--env", "my_echo:make", "--model", model, *options]
    assert main(trained) == 0
    capsys.readouterr()
    run, named = f"runs/my_echo-make/{model}-seed0", ["--env", "my_echo:make"]
    words = [sys.executable, "-m", "rate", "eval", run, *named, "--json"]
    played = subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
    case = json.loads(played.stdout)[0]
    assert case["episodes"] == 100
    assert case["return_mean"] > 0.9 > 3 * CHANCE  # who guesses gets 0.25, the data 0.75
    assert main(["eval", run, "--held-out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 40
    assert main(["eval", run, *named, "--set", "silence=2", "--episodes", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["case"] == "silence=2"
    assert main(["play", "--run", run, *named, "--out", "x.gif", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["env"], shown["steps"]) == ("my_echo:make", 6) and (place / "x.gif").stat().st_size > 1000
    assert main(["report", run, "--out", "report"]) == 0
    assert main([*trained, "--resume"]) == 0  # the same values are read off the data again


def test_success_in_words_stays_with_the_run(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the environment must be named again."""
    named = ["--env", "my_echo:make"]
    rule = ["--env.success", "length == 6"]
    assert main(["train", "--data", store, *named, *rule, *SMALL, "--train.steps", "1", "--out", "run"]) == 0
    capsys.readouterr()
    assert main(["eval", "run", *named, "--episodes", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["success_rate"]["value"] == 1.0
    assert main(["play", "--run", "run", *named, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["success"] is True


def test_bounds_that_an_import_guessed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line says how to have those of the environment."""
    steps = np.arange(20)
    seen = np.zeros((20, 4), np.float32)
    np.savez(place / "log.npz", observations=seen, actions=steps % 2, rewards=seen[:, 0], terminals=steps % 5 == 4)
    assert main(["data", "import", "log.npz", "--out", "guessed"]) == 0
    again = ["data", "import", "log.npz", "--env", "CartPole-v1", "--out"]
    assert main(["data", "check", "guessed", "--env", "CartPole-v1"]) == 2
    assert f"rate {' '.join(again)} DIRECTORY" in capsys.readouterr().err
    assert main([*again, "given"]) == 0 and main(["data", "check", "given", "--env", "CartPole-v1"]) == 0


def test_a_run_that_is_stopped_names_its_environment(store: str) -> None:
    """The command to go on is right as it stands."""
    config = config_of("--data", store, "--env", "my_echo:make", *SMALL)
    with pytest.raises(Interrupted, match=r"continue with: rate train --out run --resume --env my_echo:make$"):
        train_run(config, "run", on_step=lambda step, metrics: signal.raise_signal(signal.SIGINT))


def test_what_the_data_decides(store: str) -> None:
    config = config_of("--data", store, "--env", "my_echo:make")
    assert (config.env.name, config.data.path, config.recipe) == ("my_echo:make", "log", "own")
    assert (config.train.window, config.model.segment_len, config.data.start) == (6, 1, "auto")
    assert (config.data.return_scale, config.eval.target_return, config.eval.max_steps) == (1.0, 1.0, 12)
    edited = config_of("--data", store, "--env", "my_echo:make", "--model", "dt", "--data.return-scale", "5")
    assert (edited.model.name, edited.data.return_scale, edited.train.window) == ("dt", 5.0, 6)
    assert config_of("--data", store, "--env", "my_echo:make", "--model", "cql-mlp").objective.name == "cql"


@pytest.mark.parametrize(
    ("length", "window", "start"),
    [(1, 1, "first"), (2, 2, "first"), (8, 8, "first"), (200, 204, "first"), (1200, 1050, "random")],
)
def test_windows_follow_the_longest_episode(length: int, window: int, start: str, place: Path) -> None:
    last = np.arange(length) == length - 1
    columns = {
        "observations": np.zeros(length + 1, np.int64),
        "actions": np.zeros(length, np.int64),
        "rewards": np.full(length, -2.0),
        "terminations": last,
        "truncations": ~last & False,
    }
    echo.write_store(place / "long", [columns] * 3)
    config = config_of("--data", "long")
    windows, _ = cut_windows(config, prepare_data("", config.data))
    assert (config.train.window, windows.start, config.data.return_scale) == (window, start, 2.0 * length)


def test_seeds_of_the_data_are_not_evaluated(place: Path) -> None:
    pytest.importorskip("minari")
    echo.write_minari("me/echo-v0", 5, first=0)  # with seeds that evaluation takes by default
    assert config_of("--data", "me/echo-v0", "--env", "my_echo:make").eval.seed == 1


def test_without_an_environment_held_out_actions_are_the_judge(
    store: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--data", store, *SMALL, *QUICK, "--train.steps", "20"]) == 0
    assert "training without an environment" in capsys.readouterr().err
    assert main(["eval", "runs/log/rate-seed0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["episodes"] == 6 and found["steps"] == 36 and found["absolute_error"] is None
    assert 0 < found["loss"] < 3 and 0 <= found["accuracy"] <= 1
    kept = json.loads((place / "runs/log/rate-seed0/held_out.json").read_text())
    assert len(kept["episodes"]) == 6 and kept["total"]["loss"] == pytest.approx(found["loss"])
    assert kept["total"]["loss"] == pytest.approx(sum(one["loss"] for one in kept["episodes"].values()) / 6)
    logged = [json.loads(line) for line in (place / "runs/log/rate-seed0/metrics.jsonl").read_text().splitlines()]
    assert found["loss"] == pytest.approx([line["valid/loss"] for line in logged if "valid/loss" in line][-1], rel=1e-4)


def test_a_run_is_loaded_where_its_environment_is_not(store: str, place: Path) -> None:
    assert main(["train", "--data", store, "--env", "my_echo:make", *SMALL, "--train.steps", "1"]) == 0
    os.remove(place / "my_echo.py")
    sys.modules.pop("my_echo")
    run = Run.load("runs/my_echo-make/rate-seed0")
    assert run.held_out().total.steps == 36 and run.actor(1.0).act(3) in range(4)
    assert main(["eval", "runs/my_echo-make/rate-seed0"]) == 2


def test_data_that_names_its_environment(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    echo.write_store(place / "log", echo.episodes(3), environment="my_echo:make")
    assert config_of("--data", "log").env.name == ""  # a name in a file does not run code
    assert "give --env my_echo:make" in capsys.readouterr().err and "my_echo" not in sys.modules
    assert main(["collect", "tmaze", "--episodes", "5", "--set", "length=9", "--out", "maze"]) == 0
    config = config_of("--data", "maze")
    assert (config.env.name, config.eval.cases, config.eval.max_steps) == ("tmaze", ("length=9",), None)


ROOM = """
from collections import OrderedDict

import gymnasium as gym
import numpy as np


class Room(gym.Env):
    def __init__(self):
        self.action_space, door = gym.spaces.Discrete(3), gym.spaces.Discrete(2)
        door.dtype = np.dtype(np.int32)
        place = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.observation_space = gym.spaces.Dict(OrderedDict(place=place, door=door))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self.seen(), {}

    def step(self, action):
        self.time += 1
        return self.seen(), 0.5 if action == 1 else 0, self.time == 4, False, {}

    def seen(self):
        return {"place": np.zeros(2, np.float32), "door": np.int32(self.time % 2)}
"""


def minari_data(name: str, env: gym.Env[Any, Any], episodes: int) -> None:
    """As Minari writes it, with the rewards as the environment gives them."""
    import minari
    from minari.data_collector.episode_buffer import EpisodeBuffer

    buffers = []
    for seed in range(10_000, 10_000 + episodes):
        env.action_space.seed(seed)
        seen, actions, answers = [env.reset(seed=seed)[0]], [], []
        while not answers or not (answers[-1][2] or answers[-1][3]):
            actions.append(env.action_space.sample())
            answers.append(env.step(actions[-1]))
            seen.append(answers[-1][0])
        rewards, *ends = (np.array([answer[part] for answer in answers]) for part in (1, 2, 3))
        columns = {"observations": stack_trees(seen), "actions": np.array(actions), "rewards": rewards}
        buffers.append(EpisodeBuffer(seed=seed, terminations=ends[0], truncations=ends[1], **columns))
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(name, buffers, env=env.spec, **spaces)


def test_an_environment_fits_what_minari_keeps_of_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Minari sorts the keys of a Dict and forgets the integer type of classes; some rewards are whole numbers."""
    pytest.importorskip("minari")
    (place / "my_room.py").write_text(ROOM)
    sys.path.append(str(place))
    room = importlib.import_module("my_room").Room()
    minari_data("me/room-v0", room, 30)
    store = open_data("me/room-v0", place / "data")
    assert list(store.spaces.observation.spaces) == ["door", "place"] != list(room.observation_space.spaces)
    assert main(["data", "check", "me/room-v0", "--env", "my_room:Room"]) == 0
    words = ["train", "--data", "me/room-v0", "--env", "my_room:Room", "--out", "run"]
    assert main([*words, *SMALL, "--train.steps", "1"]) == 0
    assert main(["eval", "run", "--env", "my_room:Room", "--episodes", "2"]) == 0
    assert main(["play", "my_room:Room", "--run", "run", "--json"]) == 0


def test_evaluation_has_the_arguments_of_minari_data(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("minari")
    lake = gym.make("FrozenLake-v1", is_slippery=False, max_episode_steps=12)
    minari_data("me/lake-v0", lake, 30)
    assert main(["train", "--data", "me/lake-v0", *SMALL, "--train.steps", "1", "--out", "run"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "made with is_slippery=false,max_episode_steps=12" in line] == said
    assert len(said) == 1 and "rate eval RUN --set name=value" in said[0]
    assert main(["eval", "run", "--episodes", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["case"] == "is_slippery=False,max_episode_steps=12"
    assert main(["eval", "run", "--episodes", "2", "--set", "is_slippery=true", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["case"] == "is_slippery=True"


@pytest.mark.parametrize(
    ("env", "path"), [("my_echo:make", "my_echo-make"), ("CartPole-v1", "CartPole-v1"), ("a.b:C.make", "a.b-C.make")]
)
def test_runs_have_safe_places(env: str, path: str, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from rate.cli.train import slug

    config = config_of("--data", store)
    assert slug(replace(config, env=replace(config.env, name=env))) == path
    assert slug(replace(config, data=replace(config.data, path="/tmp/../x y"))) == "tmp/x-y"


def test_a_recipe_takes_data_and_nothing_else(store: str, refused: Refused) -> None:
    assert main(["collect", "tmaze", "--episodes", "5", "--set", "length=9", "--out", "maze"]) == 0
    assert config_of("tmaze/rate", "--data", "maze").data.path == "maze"
    assert config_of("tmaze/rate", "--data", "x/y-v0").data.path == "minari:x/y-v0"
    refused(["train", "tmaze/rate", "--env", "my_echo:make"], "--env goes with --data")
    refused(["train", "tmaze/rate", "--data", store, "--model", "dt"], "--model goes with --data", "recipe")
    refused(["train", "--env", "my_echo:make"], "--env goes with --data")
    refused(["train", "--data", store, "--model", "rata"], "unknown model", "'rate'")
    refused(["train", "--data", store, "--env", "my_echo:mak"], "has no 'mak'", "did you mean 'make'?")
    refused(["train", "--data", store, "--env", "CartPole-v1"], "observations", "differ")


def test_no_held_out_episode(store: str, refused: Refused) -> None:
    words = ["train", "--data", store, "--data.validation-fraction", "0", *SMALL, "--train.steps", "1", "--out", "run"]
    assert main(words) == 0
    refused(["eval", "run"], "holds out no episode", "validation_fraction")
