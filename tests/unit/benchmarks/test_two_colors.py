"""The scripts that make the tables and figures of ViZDoom-Two-Colors, on results that are written by hand."""

from __future__ import annotations

import argparse
import importlib
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

import rate
from rate.evaluation.rollout import LockStep
from rate.types import Segment, Spaces

SCRIPTS = Path(__file__).parents[3] / "benchmarks" / "vizdoom-two-colors"
COLOURS = ["green", "red", "green", "red"]


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The scripts as modules: they import each other, as they do when one of them is run."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return SimpleNamespace(
        **{name: importlib.import_module(name) for name in ("episodes", "figures", "remembered", "rq1", "table")}
    )


def line(run: str, returns: list[float], **changes: Any) -> dict[str, Any]:
    plain = {"step": 5, "window": 90, "pillar": 45, "target": 5.0, "usual": 5.0, "intervene": "", "episodes": 4}
    rewards = [[value / 2, value / 2] for value in returns[:-1]] + [[returns[-1]]]
    found = {"colour": COLOURS, "return": returns, "length": [180, 180, 180, 80], "rewards": rewards}
    return {"run": run, "max_steps": 180, **plain, **found, **changes}


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def test_one_run_is_judged_over_its_episodes_several_over_runs(scripts: SimpleNamespace) -> None:
    sample, judge = scripts.episodes.Sample, scripts.episodes.judge
    one = sample(values=[10, 2, 14, 4], colours=COLOURS)
    assert judge([one], "red").value == 3 and judge([one], "green").value == 12
    assert judge([one], "all").value == 7.5
    apart = judge([one], "imbalance")
    assert apart.value == 9 and apart.high - apart.value == pytest.approx(math.sqrt(1 + 4))
    # The other way round: the means of both colours are equal, and yet each run prefers one.
    other = sample(values=[2, 10, 4, 14], colours=COLOURS)
    both = judge([one, other], "imbalance")
    assert both.value == 9 and both.high == 9
    assert judge([one, other], "red").value == judge([one, other], "green").value == 7.5


def test_rewards_are_summed_by_blocks_of_the_episodes_that_live(scripts: SimpleNamespace) -> None:
    watch, block = scripts.episodes.Blocks(), scripts.episodes.BLOCK

    def see(number: int, rows: list[int], alive: list[bool], reward: list[float]) -> None:
        marks = np.array(alive)
        step = LockStep(
            number=number, rows=np.array(rows), alive=marks, observation=None, reward=np.array(reward), ended=~marks
        )
        watch(step)

    see(1, [0, 1], [True, True], [1.0, 0.5])
    see(block, [0, 1], [True, False], [2.0, 9.0])
    see(block + 1, [0], [True], [4.0])
    see(1, [0], [True], [8.0])  # the next batch
    assert watch.rewards() == [[3.0, 4.0], [0.5], [8.0]]


def test_what_is_in_the_file_is_not_played_again(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SimpleNamespace(target_return=5.0)
    config = SimpleNamespace(eval=settings, train=SimpleNamespace(window=90))
    run = SimpleNamespace(path=tmp_path / "rate" / "seed0", step=5, config=config)
    run.cases = lambda: [SimpleNamespace(max_steps=2100, tags={"pillar": pillar}) for pillar in ("45", "0")]
    monkeypatch.setattr(rate.Run, "load", lambda path: run)
    played = []
    monkeypatch.setattr(scripts.episodes, "play", lambda run, setting, *_: played.append(setting) or {"return": [1.0]})
    words = ["measure", str(run.path), "--out", str(tmp_path / "figures.jsonl"), "--episodes", "4"]
    given = scripts.episodes.reader(None).parse_args(words)
    scripts.episodes.measure(given, scripts.figures.settings)
    assert [(one.pillar, one.target) for one in played] == [(45, 5), (0, 5), (45, 1), (45, 3), (45, 7), (45, 9)]
    scripts.episodes.measure(given, scripts.figures.settings)
    assert len(played) == 6
    scripts.episodes.measure(argparse.Namespace(**{**vars(given), "episodes": 6}), scripts.figures.settings)
    assert len(played) == 12
    run.cases = lambda: [SimpleNamespace(max_steps=2100, tags={"pillar": "45"})]
    assert {one.pillar for one in scripts.figures.settings(run)} == {45}


def test_figures_are_drawn_for_each_length_of_the_data(scripts: SimpleNamespace, tmp_path: Path) -> None:
    found = []
    for run, window in (("rate/seed0", 90), ("rate/seed1", 90), ("dt/seed0", 90), ("rate-150/seed0", 150)):
        for pillar, target in ((45, 5.0), (0, 5.0), (45, 1.0)):
            found.append(line(run, [8, 2, 9, 3], pillar=pillar, target=target, window=window))
    file = write(tmp_path / "figures.jsonl", found)
    scripts.figures.draw(file, tmp_path)
    kinds = ("returns", "early_and_late", "over_time", "by_target")
    names = {f"{kind}_{window}.png" for kind in kinds for window in (90, 150)}
    assert {path.name for path in tmp_path.glob("*.png")} == names
    late = scripts.figures.reward_in(1)
    assert late(line("rate/seed0", [8, 2, 9, 3])) == [4, 1, 4.5, 0]  # the last did not live so long


def test_noise_is_put_on_what_a_policy_carries(scripts: SimpleNamespace, tmp_path: Path) -> None:
    spaces = Spaces(observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(3))
    config = SimpleNamespace(eval=SimpleNamespace(target_return=5.0))

    def noises(model: str = "rate", **sizes: int) -> set[str]:
        policy = rate.MODELS.get(model)(9, **sizes).build(spaces)
        run = SimpleNamespace(policy=policy, config=config, path="rate/seed0")
        return {"+".join(setting.intervene) for setting in scripts.rq1.settings(run)}

    assert noises(cache_tokens=0) == {"", *(f"memory-noise={alpha:g}" for alpha in scripts.rq1.ALPHAS)}
    assert "memory-noise=0.5+cache-noise=0.5" in noises(cache_tokens=5)
    assert noises("dt") == set()

    found = [
        line("rate/seed0", [8.0 - at, 2, 9 - at, 3], intervene=name)
        for at, name in enumerate(sorted(noises(cache_tokens=0)))
    ]
    points = scripts.rq1.by_strength(found, ("memory-noise",))
    assert list(points) == [0, 0.25, 0.5, 0.75, 1] and points[0]["green"].value == 8.5
    assert scripts.rq1.by_strength(found, ("cache-noise",)) == {}
    scripts.rq1.draw(write(tmp_path / "rq1.jsonl", found), tmp_path)
    assert (tmp_path / "rq1_rate.png").exists()


def test_the_table_has_both_cases_and_the_share_of_the_oracle(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for label, seed, scale in (("rate", 0, 4.0), ("rate", 1, 2.0), ("oracle-dt", 0, 6.0)):
        run = tmp_path / label / f"seed{seed}"
        run.mkdir(parents=True)
        config = {
            "model": {"name": label},
            "env": {"name": "vizdoom-two-colors"},
            "seed": seed,
            "train": {"window": 90},
        }
        (run / "config.json").write_text(json.dumps(config))
        plain = {"success": None, "target_return": 5.0, "checkpoint": "last", "step": 5, "length": 100}
        records = [
            {"case": case, "evaluation": case, "seed": at, "episode_return": scale * (1 + at), **plain, "tags": tags}
            for case, pillar in (("default", "45"), ("pillar=0", "0"))
            for at, tags in enumerate({"pillar": pillar, "colour": colour} for colour in COLOURS)
        ]
        write(run / "eval.jsonl", records)
    monkeypatch.setattr("sys.argv", ["table.py", str(tmp_path)])
    scripts.table.main()
    printed = capsys.readouterr().out
    assert "| `rate` | 90 | 2 | 7.50 ± 2.50 (10.00, 5.00) |" in printed
    assert printed.count("`rate`") == 3 and "100 ± 0 (100, 100) | 0.50 |" in printed
    assert "| `rate` |  | 6 | 41.5 ± 1.0 | 38.2 ± 5.1 | 44.7 ± 5.8 | 6.5 |  | 0.73 |" in printed
    assert "another scenario and other data" in printed


def test_early_steps_are_those_of_another_episode_of_the_same_or_the_other_colour(scripts: SimpleNamespace) -> None:
    green = torch.tensor([0, 1, 1, 0, 1])
    rows = torch.arange(5)
    for same in (True, False):
        others = scripts.remembered.another(green, same)
        assert ((green[others] == green) == same).all() and (others != rows).all()
    steps = torch.arange(90).expand(5, 90) + 100 * rows[:, None]
    window = Segment(
        observation=steps, action=steps, return_to_go=steps, reward=steps, terminated=steps, timestep=steps, mask=steps
    )
    found = scripts.remembered.exchanged(window, others, green)
    assert (found.observation[:, :45] == steps[others, :45]).all() and (
        found.action[:, :45] == steps[others, :45]
    ).all()
    assert (found.observation[:, 45:] == steps[:, 45:]).all() and (found.oracle == green[others]).all()
