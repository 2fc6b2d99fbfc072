"""Many runs: each trained and evaluated, several at a time, none of them twice.

A run that is done costs nothing, one that was killed goes on, and one that fails does not stop the others.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rate.config import RunConfig, config_to_json
from rate.errors import CheckpointError, ConfigError, RateError
from rate.experiment.executors import Executor, InProcess, Processes, Work
from rate.experiment.run import Run
from rate.experiment.train import check_same_config, train_run
from rate.system.files import check_own
from rate.training.checkpoint import load_checkpoint, resolve_checkpoint
from rate.training.progress import Progress
from rate.training.run_dir import LockedError, RunDir, locked

CLAIM = ".suite-lock"
"""Held over training and evaluation; training holds a lock of its own inside of it."""


@dataclass(frozen=True, kw_only=True)
class RunState:
    """How far a run is."""

    done: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class RunTask:
    """One run that is to be made."""

    name: str
    config: RunConfig
    path: Path
    command: list[str] | None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a run."""

    name: str
    state: Literal["done", "failed", "locked"]
    """locked: another process is at it, so it was left alone."""
    message: str = ""
    """Why it failed, in one line."""
    seconds: float = 0.0
    """Time it took now; 0 where there was nothing left to do."""


def run_state(config: RunConfig, path: Path | str) -> RunState:
    """How far a run is, read from its directory; a directory of another configuration is an error."""
    run = RunDir(Path(path))
    if not run.config.exists():
        return RunState(done=False, text="not begun")
    check_same_config(run, config_to_json(config))
    if not (run.checkpoints / "last").exists():
        return RunState(done=False, text="at step 0")
    last = load_checkpoint(resolve_checkpoint(run.checkpoints, "last"))
    if not Progress.of(last).is_over(config.train):
        return RunState(done=False, text=f"at step {last.step} of {config.train.steps}")
    loaded = Run.load(run.path)
    all_cases, left = len(loaded.cases()), len(loaded.cases_left())
    text = f"trained, {all_cases - left} of {all_cases} cases evaluated" if left else "done"
    return RunState(done=not left, text=text)


def run_all(
    configs: Mapping[str, RunConfig],
    out: Path | str,
    *,
    jobs: int = 1,
    threads: int = 0,
    executor: Executor | None = None,
    command: Sequence[str] | None = None,
    on_start: Callable[[str], None] | None = None,
    on_again: Callable[[str], None] | None = None,
    on_end: Callable[[Outcome], None] | None = None,
) -> dict[str, Outcome]:
    """Train and evaluate every run in `out`/its name; with several `jobs`, each in a process of its own.

    `threads` is per job; 0: torch's number, divided by the jobs. An `executor` takes the place of both: it says where
    and when the runs are made. `command` is kept with each run, its name added. `on_again` tells of a run that is gone
    on with because its machine was lost.
    """
    if jobs < 1:
        raise ConfigError(f"jobs is {jobs}; it must be at least 1")
    tasks = [
        RunTask(name=name, config=config, path=Path(out) / name, command=[*command, "--run", name] if command else None)
        for name, config in configs.items()
    ]
    outcomes = {task.name: outcome for task in tasks if (outcome := _known(task))}
    for outcome in outcomes.values():
        if on_end is not None:
            on_end(outcome)

    def start(task: RunTask) -> None:
        if on_start is not None:
            on_start(task.name)

    def again(task: RunTask) -> None:
        if on_again is not None:
            on_again(task.name)

    def end(task: RunTask, outcome: Outcome) -> None:
        outcomes[task.name] = outcome
        if on_end is not None:
            on_end(outcome)

    left = [task for task in tasks if task.name not in outcomes]
    if executor is None:
        several = jobs > 1 and len(left) > 1
        executor = Processes(jobs=jobs, threads=threads) if several else InProcess(threads=threads)
    executor.run(Work(tasks=left, do=_attempt, on_start=start, on_end=end, lost=_lost, busy=_is_locked, on_again=again))
    return outcomes


def _known(task: RunTask) -> Outcome | None:
    """The outcome, where it is known before anything is started."""
    try:
        return Outcome(name=task.name, state="done") if run_state(task.config, task.path).done else None
    except CheckpointError:
        return None  # it may be that another process is writing it at this moment: the attempt will tell
    except RateError as reason:
        return _failed(task, str(reason))


def _attempt(task: RunTask) -> Outcome:
    """Train and evaluate one run; whatever goes wrong is an outcome."""
    began = time.perf_counter()
    try:
        check_own(task.path, task.path.parent)
        task.path.mkdir(parents=True, exist_ok=True)
        with locked(task.path, CLAIM):
            run = train_run(task.config, task.path, resume=True, command=task.command)
            run.evaluate(skip_done=True)
    except LockedError:
        return Outcome(name=task.name, state="locked", message="another process works on it")
    except (RateError, OSError) as reason:
        return _failed(task, str(reason))
    except Exception as defect:
        traceback.print_exc()  # of the library or of an environment: the line alone would not help to find it
        return _failed(task, f"{type(defect).__name__}: {defect}")
    return Outcome(name=task.name, state="done", seconds=time.perf_counter() - began)


def _is_locked(outcome: Outcome) -> bool:
    return outcome.state == "locked"


def _lost(task: RunTask, code: int | None) -> Outcome:
    return _failed(task, f"its process ended {'' if code is None else f'with code {code} '}and said nothing")


def _failed(task: RunTask, reason: str) -> Outcome:
    return Outcome(name=task.name, state="failed", message=" ".join(reason.split()))
