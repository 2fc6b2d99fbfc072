"""Work goes to the executor that is given, and comes back through it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from integration.tiny import config
from rate.experiment import run_all
from rate.experiment.executors import InProcess, Processes, Work


@dataclass
class Diary:
    """What happened, in order."""

    lines: list[tuple[Any, ...]] = field(default_factory=list)

    def work(self, *tasks: Any) -> Work[Any, Any]:
        return Work(
            tasks=tasks,
            do=divided,
            on_start=lambda task: self.lines.append(("start", task)),
            on_end=lambda task, result: self.lines.append(("end", task, result)),
            lost=lambda task, code: code,
        )


def divided(task: int) -> float:
    return 6 / task


def test_in_this_process_one_follows_the_other() -> None:
    diary, threads = Diary(), torch.get_num_threads()
    InProcess().run(diary.work(2, 3))
    assert diary.lines == [("start", 2), ("end", 2, 3.0), ("start", 3), ("end", 3, 2.0)]
    assert torch.get_num_threads() == threads


def test_a_process_that_is_lost_does_not_take_the_others_along() -> None:
    diary = Diary()
    Processes(jobs=2, threads=1).run(diary.work(2, 0))
    assert {line for line in diary.lines if line[0] == "end"} == {("end", 2, 3.0), ("end", 0, 1)}


def test_a_suite_hands_its_runs_to_the_executor(tmp_path: Path) -> None:
    given: list[str] = []

    class Elsewhere:
        def run(self, work: Work[Any, Any]) -> None:
            for task in work.tasks:
                work.on_start(task)
                work.on_end(task, work.lost(task, 9))

    outcomes = run_all({"a": config(), "b": config()}, tmp_path, executor=Elsewhere(), on_start=given.append)
    assert given == ["a", "b"] and not list(tmp_path.iterdir())
    assert {(outcome.name, outcome.state) for outcome in outcomes.values()} == {("a", "failed"), ("b", "failed")}
    assert "ended with code 9" in outcomes["a"].message
