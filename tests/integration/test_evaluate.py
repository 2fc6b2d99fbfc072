"""`rate eval`: JSON that parses, files whose lines are complete, and episodes that no training has seen."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.tiny import config
from rate.cli.main import main
from rate.envs import ENVS
from rate.errors import ConfigError, DataError
from rate.evaluation.evaluator import EvalConfig, Evaluator
from rate.experiment import Run, load, train_run
from rate.experiment.data import prepare_data
from rate.seeding import BLOCK, Purpose


def lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_json_of_two_cases(run: Path) -> None:
    """In a process of its own: standard output is JSON and nothing else, standard error is empty."""
    command = [sys.executable, "-m", "rate", "eval", str(run), "--set", "length=12", "--set", "length=15", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert [row["case"] for row in rows] == ["length=12", "length=15"]
    for row in rows:
        assert row["episodes"] == 8
        assert 0 <= row["success_rate"]["low"] <= row["success_rate"]["value"] <= row["success_rate"]["high"] <= 1
        assert row["ms_per_step"] > 0 and row["seconds"] > 0


def test_every_episode_is_recorded(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(run), "--set", "length=12", "--set", "length=15", "--episodes", "5", "--batch", "3"]) == 0
    assert main(["eval", str(run), "--checkpoint", "best", "--episodes", "1"]) == 0
    episodes, evaluations = lines(run / "eval.jsonl"), lines(run / "evaluations.jsonl")
    assert [line["case"] for line in episodes] == ["length=12"] * 5 + ["length=15"] * 5 + ["length=9"]
    fields = {
        "case",
        "evaluation",
        "seed",
        "episode_return",
        "length",
        "success",
        "target_return",
        "checkpoint",
        "step",
        "tags",
        "intervention",
        "prompt",
        "familiar",
    }
    assert all(line.keys() == fields for line in episodes)
    assert len({line["seed"] for line in episodes}) == 5
    assert [(line["case"], line["episodes"], line["batch"]) for line in evaluations] == [
        ("length=12", 5, 3),
        ("length=15", 5, 3),
        ("length=9", 1, 1),
    ]
    for line in evaluations:
        assert {"checkpoint", "step", "seconds", "env_steps", "ms_per_step", "threads"} <= line.keys()
    assert evaluations[-1]["checkpoint"] == "best"
    assert evaluations[-1]["step"] == load(run, "best").step


def test_what_was_cut_off_is_dropped_before_more_is_added(run: Path) -> None:
    assert main(["eval", str(run), "--episodes", "2"]) == 0
    with open(run / "eval.jsonl", "a") as file:
        file.write('{"case": "length=9", "se')
    assert main(["eval", str(run), "--episodes", "3"]) == 0
    assert len(lines(run / "eval.jsonl")) == 5


def test_it_says_which_share_of_the_first_observations_training_held(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def shares() -> list[float | None]:
        return [result.familiar for result in load(run).evaluate(["length=9", "length=12"])]

    # Two clues and a noise of three values: all of them are in 200 episodes, whatever their length.
    kept = run / "first_observations.json"
    assert len(json.loads(kept.read_text())) == 6 and shares() == [1.0, 1.0]
    assert main(["eval", str(run)]) == 0
    line = "first observations that training held: 100 % (training saw 6 different ones; what comes after"
    assert line in " ".join(capsys.readouterr().out.split())
    kept.write_text(json.dumps(json.loads(kept.read_text())[:3]))
    assert all(share is not None and 0 < share < 1 for share in shares())
    kept.write_text('{"no": "list"}')
    assert main(["eval", str(run)]) == 2
    assert "first_observations.json does not hold a list of digests" in capsys.readouterr().err
    kept.unlink()
    assert shares() == [None, None]
    assert {entry["familiar"] for entry in lines(run / "eval.jsonl")} == {True, False, None}


def test_no_evaluated_episode_was_collected(run: Path) -> None:
    collected = set(prepare_data("tmaze", config().data).seeds.tolist())
    [result] = Run.load(run).evaluate(["length=9"])
    reported = {record.seed for record in result.records}
    assert len(reported) == 8 and not reported & collected
    assert {seed // BLOCK for seed in collected} == {Purpose.COLLECT}
    assert {seed // BLOCK for seed in reported} == {Purpose.REPORT}


def test_the_batch_changes_nothing(run: Path) -> None:
    for batch in (1, 3, 8):
        assert main(["eval", str(run), "--batch", str(batch)]) == 0
    episodes = [{**line, "evaluation": None} for line in lines(run / "eval.jsonl")]
    assert episodes[:8] == episodes[8:16] == episodes[16:]


def test_a_report_of_what_was_evaluated(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(run), "--set", "length=9", "--set", "length=30"]) == 0
    capsys.readouterr()
    assert main(["report", str(run), "--out", str(tmp_path / "report"), "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert json.loads(said.out) == json.loads((tmp_path / "report" / "summary.json").read_text())


def test_episodes_that_were_cut_are_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(run), "--set", "length=12", "--episodes", "5", "--max-steps", "4"]) == 0
    message = " ".join(capsys.readouterr().err.split())
    assert "note: 5 of 5 episodes of length=12 were cut after 4 steps; give a larger --max-steps" in message
    assert main(["eval", str(run), "--set", "length=12", "--episodes", "5"]) == 0
    assert "cut" not in capsys.readouterr().err


def test_a_case_of_another_form_is_refused(run: Path) -> None:
    evaluator = Evaluator(spec=ENVS.get("aar"), config=EvalConfig(episodes=2))
    with pytest.raises(ConfigError, match=r"has observations Box.* the policy was trained on Box"):
        evaluator.run(Run.load(run).policy, ENVS.get("aar").case(length=9), checkpoint="last", step=0)


def test_data_that_has_changed_is_not_taken_for_the_data_of_a_run(tmp_path: Path) -> None:
    """Other episodes under the same path would be trained on, and those that were held out would not be."""
    own = {"path": str(tmp_path / "data")}
    collect = ["collect", "tmaze", "--episodes", "40", "--set", "length=9", "--out", own["path"]]
    assert main(collect) == 0
    train_run(config(data=own, steps=2), tmp_path / "run")
    assert Run.load(tmp_path / "run").held_out().total.steps
    shutil.rmtree(own["path"])
    assert main([*collect, "--seed", "1"]) == 0
    with pytest.raises(DataError, match=r"is not the data that .* was trained on"):
        Run.load(tmp_path / "run").held_out()
    last = tmp_path / "run" / "checkpoints" / "last"
    last.unlink()  # as after a kill before the first checkpoint
    with pytest.raises(DataError, match=r"is not the data that .* was trained on"):
        train_run(config(data=own, steps=2), tmp_path / "run", resume=True)


def test_an_intervention_never_passes_for_a_clean_evaluation(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["eval", str(run), "--set", "length=9", "--episodes", "4", "--skip-done"]
    # Records from before there were interventions: they are clean.
    assert main(args) == 0
    for name in ("eval.jsonl", "evaluations.jsonl"):
        lines = [json.loads(line) for line in (run / name).read_text().splitlines()]
        old = [{key: line[key] for key in line if key not in ("intervention", "prompt")} for line in lines]
        (run / name).write_text("".join(json.dumps(line) + "\n" for line in old))
    for more, episodes in (([], 4), (["--intervene", "memory-noise=1"], 8), (["--intervene", "memory-noise"], 8)):
        assert main([*args, *more]) == 0
        assert len((run / "eval.jsonl").read_text().splitlines()) == episodes
    for more, episodes in ((["--intervene", "memory-noise=0.5"], 12), (["--prompt", "constant"], 16), ([], 16)):
        assert main([*args, *more]) == 0
        assert len((run / "eval.jsonl").read_text().splitlines()) == episodes
    records = [json.loads(line) for line in (run / "eval.jsonl").read_text().splitlines()]
    how = [(record.get("intervention", ""), record.get("prompt", "countdown")) for record in records[::4]]
    assert how == [
        ("", "countdown"),
        ("memory-noise=1", "countdown"),
        ("memory-noise=0.5", "countdown"),
        ("", "constant"),
    ]
    capsys.readouterr()
    assert main(["eval", str(run), "--intervene", "cache-noise=1"]) == 2
    assert capsys.readouterr().err == "rate: this model carries no cache from segment to segment to intervene on\n"


def test_a_run_is_evaluated_under_interventions_from_python(run: Path) -> None:
    loaded, judge = load(run), EvalConfig(episodes=4)
    both = loaded.evaluate("length=9", config=judge, intervene=["memory-noise=0.5", "memory-swap"])[0]
    assert {record.intervention for record in both.records} == {"memory-noise=0.5+memory-swap=1"}
