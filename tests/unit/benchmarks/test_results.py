"""The scripts that make the tables of MuJoCo, Atari, POPGym and Memory Maze, on results that are written by hand."""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SCRIPTS = ("mujoco", "atari", "popgym/all", "memory-maze")
HOPPER = {"kind": "normalised", "low": 0.0, "high": 1000.0}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("tables")


@pytest.fixture
def scripts(tables: ModuleType) -> dict[str, ModuleType]:
    """The scripts have the same name, so they are loaded by their paths."""
    found = {}
    for name in SCRIPTS:
        spec = importlib.util.spec_from_file_location(
            f"{name.replace('/', '_')}_results", BENCHMARKS / name / "results.py"
        )
        assert spec is not None and spec.loader is not None
        found[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    return found


def write(
    run: Path,
    returns: dict[str, list[float]],
    score: dict[str, Any] | None = None,
    case: str = "default",
    data: float = 500.0,
) -> None:
    """A run that was judged in these ways, the first one as it was meant to act."""
    run.mkdir(parents=True)
    prompt = next(iter(returns))
    config = {
        "model": {"name": run.parts[-2]},
        "env": {"name": run.parts[-3]},
        "seed": int(run.name.removeprefix("seed")),
        "eval": {"cases": [] if case == "default" else [case], "prompt": prompt},
    }
    (run / "config.json").write_text(json.dumps(config))
    (run / "meta.json").write_text(json.dumps({"score": score or HOPPER, "data_return": data}))
    (run / "metrics.jsonl").write_text(json.dumps({"step": 9, "time/training_seconds": 60.4}) + "\n")
    same = {"case": case, "checkpoint": "last", "step": 9, "intervention": "", "target_return": 3000.0}
    episodes, costs = [], []
    for way, values in returns.items():
        about = {**same, "evaluation": way, "prompt": way}
        cost = {"seconds": 30.0, "env_steps": 100, "ms_per_step": 300.0, "batch": 2, "threads": 1}
        costs.append({**about, **cost})
        for seed, value in enumerate(values):
            episodes.append({**about, "seed": seed, "episode_return": value, "length": 100, "success": None})
    for name, lines in (("eval", episodes), ("evaluations", costs)):
        (run / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_errors_are_over_runs_or_over_the_episodes_of_one(tables: ModuleType) -> None:
    assert tables.cell([]) == tables.mean_cell([[], []]) == ""
    assert tables.cell([[1.0, 3.0]]) == "2.0 ± 1.0"
    assert tables.cell([[4.0]]) == "4.0"
    assert tables.cell([[1.0, 3.0], [5.0, 7.0]]) == "4.0 ± 2.0 (2.0, 6.0)"


def test_means_over_tasks_say_how_many_there_are(tables: ModuleType) -> None:
    sure, unsure = [[1.0, 1.0], [1.0, 1.0]], [[1.0, 3.0], [5.0, 7.0]]
    assert tables.mean_cell([sure, unsure]) == "2.5 [1.5, 3.5]"
    assert tables.mean_cell([sure, []]) == "1.0 [1.0, 1.0], 1 of 2"
    assert tables.difference_cell([(unsure, sure), (sure, sure)]) == "1.5 [0.5, 2.5]"
    assert tables.difference_cell([(unsure, sure), (sure, [])]) == "3.0 [1.0, 5.0], 1 of 2"
    assert tables.difference_cell([([], sure)]) == ""


def test_another_prompt_counts_if_it_asks_for_the_same_return(tables: ModuleType, tmp_path: Path) -> None:
    run = tmp_path / "hopper-medium" / "rate" / "seed0"
    write(run, {"per-segment": [100.0, 300.0], "countdown": [400.0, 600.0]})
    ((run,),) = tables.read(tmp_path).values()
    assert tables.scores([run]) == tables.scores([run], "per-segment") == [[10.0, 30.0]]
    assert tables.scores([run], "countdown") == [[40.0, 60.0]]
    assert tables.scores([run], "constant") == []


def test_the_tables_of_mujoco(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    grade, view = tmp_path / "mujoco" / "hopper-medium", tmp_path / "mujoco-partial" / "hopper-velocities"
    for seed, high in enumerate((300.0, 500.0)):
        write(grade / "rate" / f"seed{seed}", {"per-segment": [100.0, high], "countdown": [0.0, high]})
        for model, more in (("rate", 100.0), ("bc-mlp", 0.0)):
            write(view / model / f"seed{seed}", {"countdown": [more, high + more]}, case="observe=velocities")
    write(grade / "dt" / "seed0", {"countdown": [100.0, 300.0]})
    monkeypatch.setattr("sys.argv", ["results.py", str(tmp_path)])
    scripts["mujoco"].main()
    printed = capsys.readouterr().out
    ours = "| medium | hopper | 16.2 | 25.0 ± 5.0 (20.0, 30.0) | 20.0 ± 5.0 (15.0, 25.0) | 20.0 ± 10.0 |  |  |  |"
    assert f"{ours} 77.4 ± 1.4 | 67.6 ± 1.0 | 58.0 |" in printed
    assert "| medium-replay | walker2d |  |  |  |  |  |  |  | 73.7 ± 1.4 |" in printed
    assert "| mean |  |  | 25.0 [20.0, 30.0], 1 of 9 |" in printed
    assert "| velocities | hopper | 16.2 | 30.0 ± 5.0 (25.0, 35.0) |  |  | 20.0 ± 5.0 (15.0, 25.0) |" in printed
    assert "| velocities | 10.0 [0.0, 20.0], 1 of 3 |  |  |" in printed and "| positions |  |  |  |" in printed
    assert "| `rate` | 2 | 9 | 60 | 30 | 1 |" in printed and "| `cql-mlp` | 0 |  |  |  |  |" in printed
    assert "other data" in printed and "other work shared" in printed


def test_the_papers_columns_of_mujoco_have_the_papers_averages(scripts: dict[str, ModuleType]) -> None:
    for column in scripts["mujoco"].PAPER.values():
        *values, average = (float(value.partition("±")[0]) for value in column.split())
        assert len(values) == 9 and np.mean(values) == pytest.approx(average, abs=0.06)


def test_the_table_of_atari(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, players = {"kind": "return", "low": 0.0, "high": 1.0}, tmp_path / "players.jsonl"
    lines = [
        {"game": game, "player": player, "score": score}
        for game in ("breakout", "pong", "qbert", "seaquest")
        for player, score in (("random", 2.0), ("random", 4.0), ("spread=0.0", 2000.0))
    ]
    players.write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(scripts["atari"], "PLAYERS", players)
    for seed in range(2):
        write(tmp_path / "atari" / "pong" / "rate" / f"seed{seed}", {"countdown": [1.0, 3.0 + seed]}, plain, data=4.0)
    monkeypatch.setattr("sys.argv", ["results.py", str(tmp_path)])
    scripts["atari"].main()
    printed = capsys.readouterr().out
    assert "| pong | 3.0 ± 1.0 | 2,000.0 | 4.0 | 2.2 ± 0.2 (2.0, 2.5) |  |  | 18.8 ± 0.3 | 17.1 ± 2.9 |" in printed
    assert "| qbert | 3.0 ± 1.0 | 2,000.0 |  |  |  |  | 12,486.9 ± 280.4 |" in printed
    assert "**Times**, pong" in printed and "other data" in printed


def test_the_table_of_popgym(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """RepeatFirst is a memory task whose expert has 1 and random actions about -0.5."""
    plain = {"kind": "return", "low": 0.0, "high": 1.0}
    players = scripts["popgym/all"].known()
    low, high = players["RepeatFirst-Easy", "random"], players["RepeatFirst-Easy", "expert"]
    for model, share in (("rate", 1.0), ("dt", 0.5)):
        write(
            tmp_path / "popgym" / "RepeatFirst-Easy" / model / "seed0",
            {"countdown": [low + share * (high - low)] * 2},
            plain,
        )
    monkeypatch.setattr("sys.argv", ["results.py", str(tmp_path)])
    scripts["popgym/all"].main()
    printed = capsys.readouterr().out
    assert "| 33 memory | 1.000 [1.000, 1.000], 1 of 33 | 0.500 [0.500, 0.500], 1 of 33 |  | 0.500 " in printed
    assert "| RepeatFirst-Easy | -0.5" in printed and "| 15 reactive |  |  |  |  |  |" in printed
    assert "| Autoencode-Easy | -0.51 | 1.00 |  |  |  |  |  |  |" in printed


def test_the_table_of_memory_maze(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, players = {"kind": "return", "low": 0.0, "high": 1.0}, tmp_path / "players.jsonl"
    lines = [{"env": "memory-maze/9x9", "grade": grade, "return": 2.0} for grade in ("good", "random")]
    players.write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(scripts["memory-maze"], "PLAYERS", players)
    write(tmp_path / "memory-maze" / "dt" / "seed0", {"countdown": [1.0, 3.0]}, plain, data=4.0)
    write(tmp_path / "other" / "dt" / "seed0", {"countdown": [9.0]}, plain)
    monkeypatch.setattr("sys.argv", ["results.py", str(tmp_path)])
    scripts["memory-maze"].main()
    printed = capsys.readouterr().out
    assert "| here | 2.00 | 2.00 | 4.00 |  | 2.00 ± 1.00 |  |  |  |  |" in printed
    assert "| paper | 0.00 ± 0.00 |  | 4.69 | 7.64 ± 0.41 | 6.83 ± 0.51 |" in printed


@pytest.mark.parametrize("name", SCRIPTS)
def test_without_runs_there_is_one_line(
    name: str, scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["results.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="has no evaluated runs"):
        scripts[name].main()
