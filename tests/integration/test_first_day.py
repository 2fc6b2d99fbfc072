"""What a newcomer meets: nothing is lost silently, training is judged by return, weights can be taken over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import rate
from integration.tiny import config, metrics, same_tensors, tensors
from rate.cli.main import main
from rate.cli.train import read_arguments
from rate.config import edit
from rate.data.open import open_data
from rate.envs.spec import CollectRequest
from rate.errors import RateError
from rate.experiment import Run, collect_once, data_root, train_run
from rate.experiment.data import cut_windows, never_seen
from rate.experiment.judging import Budget, OverBudgetError
from rate.experiment.own import own
from rate.models.presets.rate import RateConfig
from rate.recipes import recipe
from rate.training.checkpoint import load_checkpoint


@pytest.fixture(scope="module")
def data() -> Path:
    return collect_once(rate.ENVS.get("tmaze"), CollectRequest(episodes=60, seed=0, kwargs={"length": 40}))


# --------------------------------------------------------------------------------------- where windows start


@pytest.mark.parametrize("window, start", [(42, "first"), (30, "random")])
def test_the_start_of_windows_follows_from_the_window_that_is_used(window: int, start: str, data: Path) -> None:
    arguments = read_arguments(["--data", str(data), "--train.window", str(window)])
    assert arguments.config.data.start == "auto"
    store = open_data(data, data_root())
    windows, held_out = cut_windows(arguments.config, store)
    assert held_out is not None and windows.start == held_out.start == start


def test_a_line_says_what_is_never_trained_on(data: Path) -> None:
    store = open_data(data, data_root())
    chosen = own(store, str(data), "")
    longest = int(store.lengths.max())
    assert never_seen(cut_windows(edit(chosen, {"train.window": 42, "model.segment_len": 14}), store)[0]) == []
    cut = edit(own(store, str(data), "", window=12), {"data.start": "first"})
    lengths = cut_windows(cut, store)[0].lengths
    share = sum(max(0, n - 12) for n in lengths) / sum(lengths)
    (line,) = never_seen(cut_windows(cut, store)[0])
    assert f"{share:.1%} of the steps" in line and "never trained on" in line
    (line,) = never_seen(cut_windows(edit(cut, {"data.start": "random"}), store)[0])
    assert f"up to {longest} steps and windows 12" in line and "do not begin where their episode does" in line


def test_recipes_keep_the_start_that_they_name() -> None:
    assert recipe("mujoco/hopper/rate").data.start == "random" and recipe("tmaze/rate").data.start == "auto"


# ------------------------------------------------------------------------------------------ derived values


def test_the_context_of_a_sliding_model_sets_its_window() -> None:
    for words in (["--model.context", "20"], ["--train.window=20"], ["--model.context", "20", "--train.window", "20"]):
        chosen = read_arguments(["tmaze/dt", *words]).config
        assert (chosen.train.window, getattr(chosen.model, "context", None)) == (20, 20)
    for changes in ({"model.context": 20}, {"train": {"window": 20}}):
        chosen = recipe("tmaze/dt", changes)
        assert (chosen.train.window, getattr(chosen.model, "context", None)) == (20, 20)
    with pytest.raises(RateError, match="differs"):
        recipe("tmaze/dt", {"model.context": 20, "train.window": 10})


def test_segments_follow_from_the_window_of_own_data(data: Path) -> None:
    chosen = read_arguments(["--data", str(data), "--train.window", "30"]).config
    assert getattr(chosen.model, "segment_len", None) == 5


@pytest.mark.parametrize(
    ("words", "longer"),
    [
        ((), False),
        (("--eval.cases", "length=12"), False),
        (("--eval.cases", "length=12", "length=90", "--train.steps", "5"), True),
        (("--eval.cases=length=90",), True),
        (("--eval.max-steps", "31"), True),
    ],
)
def test_longer_episodes_than_those_of_the_data_may_be_asked_for(words: tuple[str, ...], longer: bool) -> None:
    """Then there is no clock that ends with the data, and memory learns to keep."""
    data = collect_once(rate.ENVS.get("aar"), CollectRequest(episodes=20, seed=0, kwargs={"length": 12}))
    chosen = read_arguments(["--data", str(data), *words]).config
    assert isinstance(chosen.model, RateConfig)
    assert (chosen.model.timesteps == 0, bool(chosen.train.segment_lens)) == (longer, longer)


def test_help_shows_the_values_that_the_options_lead_to(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "tmaze/dt", "--model.context", "77", "--help"])
    shown = "".join(capsys.readouterr().out.split())
    assert shown.count("(default:77)") == 2
    with pytest.raises(SystemExit):
        main(["train", "tmaze/rate", "--train.window", "91", "--help"])
    said = capsys.readouterr()
    assert "does not divide" in said.err and "(default:30)" in "".join(said.out.split())


# ---------------------------------------------------------------------------------------- judged by return


def test_the_best_by_return_is_kept(tmp_path: Path) -> None:
    """Its step is that of the highest logged return, and nothing else changes."""
    plain, judged = tmp_path / "plain", tmp_path / "judged"
    train_run(config(), plain)
    train_run(config(evaluate_every=4, evaluate_episodes=12), judged)
    assert same_tensors(tensors(plain), tensors(judged)) and same_tensors(
        tensors(plain, "best"), tensors(judged, "best")
    )
    name = "eval/length=9/return_mean"
    returns = {line["step"]: line[name] for line in metrics(judged) if name in line}
    best = Run.load(judged, "best-return")
    assert best.step == max(returns, key=lambda step: (returns[step], -step))
    assert main(["eval", str(judged), "--checkpoint", "best-return", "--episodes", "2"]) == 0


def test_own_data_is_judged_ten_times_at_most(data: Path) -> None:
    arguments = read_arguments(["--data", str(data), "--train.steps", "20"])
    assert arguments.config.train.evaluate_every is None and arguments.config.env.name == "tmaze"
    assert [step for step in range(1, 21) if arguments.config.train.evaluates_at(step)] == list(range(2, 21, 2))


def test_a_budget_is_kept_and_an_attempt_that_was_given_up_is_tried_with_more() -> None:
    budget = Budget()
    assert not budget.begin(9.0), "a twentieth of it is less than what an attempt is worth"
    assert budget.begin(11.0)
    budget._began -= 0.56
    with pytest.raises(OverBudgetError):
        budget.check(None, 1)  # type: ignore[arg-type]
    budget.end(whole=False)
    assert budget.expected == pytest.approx(1.12, abs=0.05) and not budget.begin(20.0) and budget.begin(40.0)
    budget.end(whole=True)
    assert budget.spent < 0.05 * 40 and budget.done == budget.given_up == 1


# --------------------------------------------------------------------------------------- from another run


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("from") / "first"
    train_run(config(steps=6), out)
    return out


def test_a_run_begins_with_the_weights_of_another(begun: Path, tmp_path: Path) -> None:
    run = train_run(config(steps=1, learning_rate=1e-30, seed=5), tmp_path / "second", start_from=begun)
    first = Run.load(begun)
    for name, value in run.policy.state_dict().items():
        assert torch.allclose(value, first.policy.state_dict()[name], atol=1e-9)
    assert run.config.train.start_from == str(begun)
    assert json.loads((run.path / "meta.json").read_text())["start_from"] == {"path": str(begun), "step": 6}


def test_target_networks_begin_there_too(tmp_path: Path) -> None:
    def changed(steps: int, **more: Any) -> rate.RunConfig:
        given = {"train.steps": steps, "train.window": 9, "data.episodes": 40, "data.options": ("length=9",), **more}
        return recipe("tmaze/cql-mlp", given)

    first = train_run(changed(6, **{"train.learning_rate": 0.1}), tmp_path / "first")
    again = train_run(changed(1, seed=5, **{"train.learning_rate": 1e-30}), tmp_path / "second", start_from=first.path)
    kept = load_checkpoint(again.path / "checkpoints" / "step_1", training=True).training
    for name, value in first.policy.state_dict().items():
        assert torch.allclose(kept[f"objective.target.network.{name}"], value, atol=1e-6), name


def test_resuming_remembers_where_it_began(begun: Path, tmp_path: Path) -> None:
    """Also before its first checkpoint, and when the first run is gone after it."""
    whole = train_run(config(steps=8), tmp_path / "whole", start_from=begun)
    killed = tmp_path / "killed"
    train_run(config(steps=8), killed, start_from=begun)
    for path in (killed / "checkpoints").iterdir():
        path.unlink() if path.is_file() else [inside.unlink() for inside in path.iterdir()] and path.rmdir()
    train_run(edit(config(steps=8), {"train.start_from": str(begun)}), killed, resume=True)
    assert same_tensors(tensors(whole.path), tensors(killed))


def test_the_command_takes_model_and_configuration_of_the_run(begun: Path, tmp_path: Path) -> None:
    chosen = read_arguments(["--from", str(begun), "--train.steps", "9", "--out", str(tmp_path / "x")]).config
    assert chosen == edit(config(steps=9), {"train.start_from": str(begun)})


@pytest.mark.parametrize("from_run", [True, False])
def test_another_architecture_is_refused_in_one_line(from_run: bool, begun: Path, tmp_path: Path, capsys: Any) -> None:
    words = ["--from", str(begun)] if from_run else ["tmaze/rate", "--from", str(begun)]
    assert main(["train", *words, "--model.width", "24", "--out", str(tmp_path / "run")]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and "another architecture" in line and ("here 24" in line) == from_run
    assert not (tmp_path / "run").exists()


def test_a_start_that_is_not_there(tmp_path: Path, capsys: Any) -> None:
    assert main(["train", "tmaze/rate", "--from", str(tmp_path / "no"), "--out", str(tmp_path / "run")]) == 2
    assert "is not a run directory" in capsys.readouterr().err
