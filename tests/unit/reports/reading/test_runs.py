"""Reading run directories: which episodes count, and what damaged files do.

Every refusal is one line that names the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rate.errors import CheckpointError
from rate.reports import read_run, read_runs
from rate.reports.tables.table import summary_rows

NO_SEED = '{"model": {"name": "rate"}, "env": {"name": "tmaze"}, "seed": null}'


def test_reads_what_was_written(make_run: Any) -> None:
    meta = {"train_length": 30, "axis": "length", "axis_unit": "environment steps", "metric": "success_rate"}
    run = read_run(
        make_run(
            "a", seed=7, records=make_run.episodes("length-90", 3, 4), costs=[make_run.cost("length-90")], meta=meta
        )
    )
    assert (run.name, run.model, run.env, run.seed, run.score.name) == ("a", "rate", "tmaze", 7, "success_rate")
    assert (run.axis, run.axis_unit, run.train_length, run.command) == ("length", "environment steps", 30, "")
    (case,) = run.cases
    assert (case.case, case.tag("length"), len(case.records)) == ("length-90", 90, 4)
    assert case.cost is not None and case.cost.ms_per_step == 0.5
    assert run.notes == ()


def test_last_evaluation_wins(make_run: Any) -> None:
    old = make_run.episodes("length-9", 0, 5, step=100) + make_run.episodes("length-30", 1, 5, step=100)
    new = make_run.episodes("length-9", 5, 5, step=200)
    back = make_run.episodes("length-30", 4, 5, step=50)  # written last, although of an earlier step
    run = read_run(
        make_run(
            "a",
            records=old + new + back,
            costs=[make_run.cost("length-9", 1.0), make_run.cost("length-9", 2.0, step=200)],
        )
    )
    found = {case.case: (case.step, sum(bool(record.success) for record in case.records)) for case in run.cases}
    assert found == {"length-9": (200, 5), "length-30": (50, 4)}
    costs = {case.case: case.cost for case in run.cases}
    assert costs["length-30"] is None
    assert costs["length-9"] is not None and costs["length-9"].ms_per_step == 2.0


def test_evaluations_of_one_checkpoint_are_told_apart_by_their_mark(make_run: Any) -> None:
    first = make_run.episodes("length-9", 0, 5, evaluation="a") + make_run.episodes("length-30", 2, 5, evaluation="b")
    unmarked, last = make_run.episodes("length-9", 0, 8), make_run.episodes("length-9", 3, 3, evaluation="c")
    marks = {"a": 1.0, "c": 2.0, None: 3.0}
    costs = [make_run.cost("length-9", ms, evaluation=mark) for mark, ms in marks.items()]
    run = read_run(make_run("a", records=first + unmarked + last, costs=costs))
    found = {case.case: [record.success for record in case.records] for case in run.cases}
    assert found == {"length-9": [True] * 3, "length-30": [True, True, False, False, False]}
    assert [case.cost and case.cost.ms_per_step for case in run.cases] == [2.0, None]
    assert run.notes == ()


def test_command_is_read_from_the_environment(make_run: Any) -> None:
    path = make_run("a", command=["rate", "train", "a b"])
    assert read_run(path).command == "rate train 'a b'"
    (path / "environment.json").unlink()
    assert read_run(path).command == ""


def test_repeating_an_evaluation_does_not_add_episodes(make_run: Any) -> None:
    run = read_run(make_run("a", records=make_run.episodes("length-9", 1, 5) + make_run.episodes("length-9", 5, 5)))
    assert [record.success for record in run.cases[0].records] == [True] * 5
    assert run.notes == ("5 episodes that a later evaluation repeated with the same seed were left out",)


def test_episodes_of_unknown_seed_all_count(make_run: Any) -> None:
    run = read_run(make_run("a", records=[make_run.episode("length-9", -1)] * 3))
    assert len(run.cases[0].records) == 3


@pytest.mark.parametrize("name", ["metrics.jsonl", "eval.jsonl"])
def test_truncated_last_line_is_left_out_and_noted(make_run: Any, name: str) -> None:
    path = make_run("a", records=make_run.episodes("length-9", 2, 4))
    whole = (path / name).read_bytes()
    (path / name).write_bytes(whole[:-9])
    run = read_run(path)
    assert len(run.metrics) + sum(len(case.records) for case in run.cases) == len(read_lines(path)) - 1
    assert run.notes == (f"the last line of {name} is cut off and was left out",)


def read_lines(path: Path) -> list[str]:
    return [line for name in ("metrics.jsonl", "eval.jsonl") for line in (path / name).read_text().splitlines()]


@pytest.mark.parametrize("name", ["metrics.jsonl", "eval.jsonl", "evaluations.jsonl"])
@pytest.mark.parametrize("damage", ['{"step": 1, "tr', "12", "\x00\x00"])
def test_corrupt_middle_line_is_named(make_run: Any, name: str, damage: str) -> None:
    path = make_run("a", records=make_run.episodes("length-9", 2, 4), costs=[make_run.cost("length-9")] * 3)
    lines = (path / name).read_text().splitlines()
    lines[1] = damage
    (path / name).write_text("\n".join(lines) + "\n")
    with pytest.raises(CheckpointError, match=rf"{name}: line 2 is not a JSON object"):
        read_run(path)


def test_refuses_what_is_no_run_directory(tmp_path: Path, make_run: Any) -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        read_run(tmp_path)
    with pytest.raises(CheckpointError, match="no evaluated episodes and no metrics"):
        read_run(make_run("nothing", metrics=[]))
    with pytest.raises(CheckpointError, match="no evaluated episodes"):
        read_run(make_run("only-trained"), need_evaluation=True)
    with pytest.raises(CheckpointError, match="no run directory was given"):
        read_runs([])


@pytest.mark.parametrize("text", ["{", "[]", '{"model": {"name": "rate"}, "seed": 1}', '{"model": "rate"}', NO_SEED])
def test_refuses_a_config_that_says_too_little(make_run: Any, text: str) -> None:
    path = make_run("a")
    (path / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config\.json") as caught:
        read_run(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("change", [{"episode_return": float("nan")}, {"seed": "x"}, {"tags": [1]}, {"step": None}])
def test_refuses_records_that_are_none(make_run: Any, change: dict[str, Any]) -> None:
    path = make_run("a", records=[{**make_run.episode("length-9", 0), **change}, make_run.episode("length-9", 1)])
    with pytest.raises(CheckpointError, match=r"eval\.jsonl"):
        read_run(path)


def test_metric_follows_meta_and_records(make_run: Any) -> None:
    records = make_run.episodes("length-9", 2, 4)
    assert read_run(make_run("a", records=records)).score.name == "success_rate"
    assert read_run(make_run("b", records=records, meta={"metric": "return"})).score.name == "return_mean"
    assert read_run(make_run("c", records=[make_run.episode("length-9", 0, success=None)])).score.name == "return_mean"


def test_axis_is_inferred_only_where_it_is_clear(make_run: Any) -> None:
    two = make_run.episodes("length-9", 1, 2) + make_run.episodes("length-90", 1, 2)
    assert read_run(make_run("clear", records=two)).axis == "length"
    assert read_run(make_run("one-case", records=make_run.episodes("length-9", 1, 2))).axis is None
    words = [make_run.episode("red", 0, tags={"pillar": "red"}), make_run.episode("green", 0, tags={"pillar": "green"})]
    assert read_run(make_run("words", records=words)).axis is None
    both = [{**line, "tags": {**line["tags"], "steps": line["tags"]["length"]}} for line in two]
    assert read_run(make_run("both", records=both)).axis is None


def test_names_tell_runs_apart_and_repeated_paths_count_once(make_run: Any) -> None:
    first, second = make_run("x/seed0"), make_run("y/seed0")
    assert [run.name for run in read_runs([first, second, first / "."])] == ["x/seed0", "y/seed0"]
    assert [run.name for run in read_runs([first])] == ["seed0"]


def test_files_that_may_be_missing(make_run: Any) -> None:
    path = make_run("a", records=make_run.episodes("length-9", 2, 4))
    for name in ("metrics.jsonl", "evaluations.jsonl"):
        (path / name).unlink()
    run = read_run(path)
    assert run.metrics == () and run.cases[0].cost is None


def test_cost_without_its_numbers_is_no_cost(make_run: Any) -> None:
    path = make_run("a", records=make_run.episodes("length-9", 2, 4))
    make_run.write(path / "evaluations.jsonl", [{"case": "length-9", "checkpoint": "last", "step": 100}])
    assert read_run(path).cases[0].cost is None


def test_altered_evaluations_never_mix_with_plain_ones(make_run: Any) -> None:
    """Whatever was written last: noise and other prompts stand apart, and old lines without a word of it are plain."""
    plain = make_run.episodes("length-90", 20, 20)
    noisy = make_run.episodes("length-90", 10, 20, intervention="memory-noise=1", prompt="countdown")
    asked = make_run.episodes("length-90", 5, 20, intervention="", prompt="constant")
    run = read_run(make_run("a", records=[*plain, *noisy, *asked]))
    assert [(case.case, sum(bool(one.success) for one in case.records)) for case in run.cases] == [("length-90", 20)]
    found = {(case.intervention, case.prompt): sum(bool(one.success) for one in case.records) for case in run.altered}
    assert found == {("memory-noise=1", "countdown"): 10, ("", "constant"): 5}
    meant = read_run(make_run("b", records=[*plain, *asked], eval={"prompt": "constant"}))
    assert [sum(bool(one.success) for one in case.records) for case in meant.cases] == [5]
    rows = summary_rows([run])
    assert [(row["intervention"], row["prompt"], row["value"]) for row in rows] == [
        ("", "countdown", 1.0),
        ("memory-noise=1", "countdown", 0.5),
        ("", "constant", 0.25),
    ]
