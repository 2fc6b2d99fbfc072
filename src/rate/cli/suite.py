"""`rate suite`: every run of a suite trained and evaluated, then one report over them.

Start it again to go on; start it in several places at once to share the work.
"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import reduce
from pathlib import Path
from typing import Any

import tyro

from rate import plugins
from rate.cli.board import board
from rate.cli.console import OUT, note
from rate.cli.parse import parse, set_threads
from rate.config import RunConfig, edit
from rate.errors import ConfigError, RateError
from rate.experiment import Outcome, run_all, run_state
from rate.experiment.on_ray import OnRay
from rate.recipes import SUITES
from rate.recipes.suites import in_path
from rate.registry import check_names
from rate.reports import write_report
from rate.system.signals import Interrupted


def suite(
    name: tyro.conf.Positional[str],
    *,
    out: Path | None = None,
    jobs: int = 1,
    only: str = "*",
    run: str | None = None,
    dry_run: bool = False,
    threads: int = 0,
    ray: str | None = None,
    cpus: float = 1,
    gpus: float = 0,
    no_report: tyro.conf.FlagCreatePairsOff[bool] = False,
    json: bool = False,
    change: tuple[str, ...] = (),
) -> int:
    """Train and evaluate the runs of a suite and write a report; what is done already is not done again.

    Fields such as --train.steps 200 change all of its runs, which then have a directory of their own. The exit code is
    2 if a run failed; the others are made all the same.

    Args:
        name: Suite, as `rate list suites` shows it.
        out: Directory for the runs and the report; by default runs/NAME, or runs/NAME,FIELD=VALUE with changes.
        jobs: Runs at a time, each in a process of its own; on Ray the cluster decides.
        only: Pattern of the names of the runs to make, such as "rate-*".
        run: Name of the one run to make.
        dry_run: List the runs and how far each is, and do nothing.
        threads: CPU threads of each job; 0: as many as torch takes, divided by the jobs, or the CPUs of a run on Ray.
        ray: Make the runs on the Ray cluster at host:port; without an address: $RAY_ADDRESS, else this machine.
        cpus: CPUs of each run on Ray.
        gpus: GPUs of each run on Ray.
        no_report: Leave the report alone.
        json: Print JSON.
        change: Fields that are changed in all runs, as name=value; --name value says the same.
    """
    configs = changed(_configs(name), change)
    chosen = _choose(configs, only, run)
    place = out or Path("runs") / ",".join([name, *map(in_path, change)])
    if dry_run:
        return _show_states(chosen, place, json)
    set_threads(threads)
    command = ["rate", "suite", name, *_options(change), "--out", str(place), *plugins.options()]
    cluster = ray if ray is None else OnRay(address=ray, shared=place, cpus=cpus, gpus=gpus, threads=threads)
    try:
        with board(chosen, place) as states:
            outcomes = run_all(
                chosen,
                place,
                jobs=jobs,
                threads=threads,
                executor=cluster,
                command=command,
                on_start=states.start,
                on_again=states.again,
                on_end=states.end,
            )
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was made is kept: start the same command again to go on") from None
    page = None if no_report else _report(configs, place)
    _show_outcomes(name, list(outcomes.values()), page, json)
    return _exit_code(outcomes.values())


def _exit_code(outcomes: Iterable[Outcome]) -> int:
    """2 where a run failed, each with a line that says why."""
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    for outcome in failed:
        print(f"rate: {outcome.name}: {outcome.message}", file=sys.stderr)
    return 2 if failed else 0


def gather(args: Sequence[str]) -> list[str]:
    """The words of the command, with fields such as `--train.steps 200` gathered as `--change train.steps=200`."""
    words: list[str] = []
    fields: list[str] = []
    inside = False
    for word in args:
        option, equals, value = word.partition("=")
        if word.startswith("--"):
            inside = "." in option
            if inside:
                name = option[2:].replace("-", "_")
                fields.append(f"{name}={value}" if equals else name)
                continue
        if inside:
            fields[-1] += (" " if "=" in fields[-1] else "=") + word
        else:
            words.append(word)
    return [*words, "--change", *fields] if fields else words


def _options(change: Sequence[str]) -> list[str]:
    """The fields as they stand on a command line."""
    pairs = [text.partition("=") for text in change]
    return [word for name, _, values in pairs for word in (f"--{name}", *values.split(" "))]


def changed(configs: Mapping[str, RunConfig], change: Sequence[str]) -> dict[str, RunConfig]:
    """All runs with these fields changed; each model has its own fields, so one of each is parsed."""
    known: dict[tuple[type, type], dict[str, Any]] = {}
    made = {}
    for name, config in configs.items() if change else ():
        kind = (type(config.model), type(config.objective))
        if kind not in known:
            try:
                parsed = parse(RunConfig, _options(change), "rate train RECIPE", default=config)
            except ConfigError as reason:
                raise ConfigError(f"{name}: {reason}") from None
            fields = [text.partition("=")[0] for text in change]
            known[kind] = {field: reduce(getattr, field.split("."), parsed) for field in fields}
        made[name] = edit(config, known[kind])
    return made or dict(configs)


def _configs(name: str) -> dict[str, RunConfig]:
    runs = SUITES.get(name).runs()
    configs = {run.name: run.config for run in runs}
    if len(configs) < len(runs):
        raise ConfigError(f"suite {name!r} has two runs of one name")
    return configs


def _choose(configs: Mapping[str, RunConfig], only: str, run: str | None) -> dict[str, RunConfig]:
    if run is not None:
        check_names([run], configs, "run of the suite:")
    chosen = {name: config for name, config in configs.items() if fnmatchcase(name, only) and run in (None, name)}
    if not chosen:
        raise ConfigError(f"no run of the suite is named like {only!r}; rate suite NAME --dry-run lists them")
    return chosen


def _show_states(configs: Mapping[str, RunConfig], place: Path, json: bool) -> int:
    states = {name: _state(config, place / name) for name, config in configs.items()}
    if json:
        print(jsonlib.dumps(states, indent=2))
        return 0
    width = max(map(len, states))
    for name, text in states.items():
        OUT.print(f"{name:<{width}}  {text}", markup=False)
    OUT.print(f"{sum(text == 'done' for text in states.values())} of {len(states)} runs are done", markup=False)
    return 0


def _state(config: RunConfig, path: Path) -> str:
    try:
        return run_state(config, path).text
    except RateError as reason:
        return f"cannot go on: {reason}"


def _report(configs: Mapping[str, RunConfig], place: Path) -> Path | None:
    """Report over every run of the suite that is done, by this process or another."""
    done = [place / name for name, config in configs.items() if _state(config, place / name) == "done"]
    if not done:
        return None
    if len(done) < len(configs):
        note(f"the report holds the {len(done)} of {len(configs)} runs that are done")
    return write_report(done, place / "report").page


def _show_outcomes(name: str, outcomes: list[Outcome], page: Path | None, json: bool) -> None:
    if json:
        rows = [asdict(outcome) for outcome in outcomes]
        return print(jsonlib.dumps({"suite": name, "runs": rows, "report": str(page) if page else None}, indent=2))
    states = [outcome.state for outcome in outcomes]
    OUT.print(", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states))), markup=False)
    if page is not None:
        OUT.print(str(page), markup=False)
