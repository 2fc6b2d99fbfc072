"""`rate train`: a recipe, edited by options, trained in a run directory.

The options are the fields of the recipe's configuration, so they differ from recipe to recipe.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rate.cli.console import OUT, bar, note
from rate.cli.parse import parse, set_threads
from rate.config import RunConfig, config_from_json, edit
from rate.errors import ConfigError
from rate.experiment import train_run
from rate.objectives import OBJECTIVES
from rate.recipes import RECIPES, recipe
from rate.training.run_dir import RunDir

USAGE = "rate train RECIPE [--FIELD VALUE ...] [--objective NAME] [--out DIR] [--resume] [--threads N] [--json]"


@dataclass(frozen=True, kw_only=True)
class TrainArguments:
    """A configuration and where to train it."""

    config: RunConfig
    out: Path
    resume: bool
    threads: int
    json: bool


def train(args: Sequence[str]) -> None:
    """Train a recipe, for example: rate train tmaze/rate --model.memory-tokens 5 --seed 1."""
    if not args or args[0] in ("-h", "--help"):
        OUT.print(
            f"usage: {USAGE}\n\nrecipes: {', '.join(RECIPES.names())}\n\nfields: rate train RECIPE --help", markup=False
        )
        return
    if {"-h", "--help"} & set(args):
        OUT.print(f"usage: {USAGE}\n", markup=False)
    chosen = read_arguments(args)
    set_threads(chosen.threads)
    config = chosen.config
    with bar("training", config.train.steps) as progress:
        run = train_run(
            config,
            chosen.out,
            resume=chosen.resume,
            command=["rate", "train", *args],
            on_episode=progress.on_episode,
            on_step=progress.on_step,
            on_note=note,
        )
    if chosen.json:
        print(json.dumps({"run": str(run.path), "step": run.step, "parameters": run.policy.parameter_count()}))
    else:
        done = f"trained to step {run.step}" if progress.moved else f"already trained to step {run.step}, nothing to do"
        OUT.print(f"{done}: {run.path}{progress.summary}\nevaluate it with: rate eval {run.path}", markup=False)


def read_arguments(args: Sequence[str]) -> TrainArguments:
    """Options of the command are taken out; the rest edits the configuration."""
    rest = list(args)
    out, threads, objective = _take(rest, "--out"), _take(rest, "--threads"), _take(rest, "--objective")
    resume, as_json = _flag(rest, "--resume"), _flag(rest, "--json")
    named = bool(rest) and not rest[0].startswith("-")
    if named:
        name = rest.pop(0)
        default = recipe(name)
    elif out and resume:
        started = RunDir.open(Path(out))
        name, default = "", config_from_json(started.read_config(), started.config)
    else:
        raise ConfigError(f"which recipe? usage: {USAGE}")
    if objective is not None:  # another class with other fields, so it is chosen before they are read
        default = edit(default, {"objective": OBJECTIVES.get(objective)(name=objective)})
    config = parse(RunConfig, rest, f"rate train {name}".strip(), default=default)
    where = Path(out) if out else Path("runs") / config.env.name / f"{config.model.name}-seed{config.seed}"
    return TrainArguments(config=config, out=where, resume=resume, threads=_number(threads), json=as_json)


def _number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        raise ConfigError(f"--threads takes a whole number, not {text!r}") from None


def _flag(args: list[str], name: str) -> bool:
    found = name in args
    if found:
        args.remove(name)
    return found


def _take(args: list[str], name: str) -> str | None:
    for index, text in enumerate(args):
        key, equals, value = text.partition("=")
        if key != name:
            continue
        if not equals and (index + 1 >= len(args) or args[index + 1].startswith("--")):
            raise ConfigError(f"{name} needs a value")
        value = value if equals else args[index + 1]
        del args[index : index + (1 if equals else 2)]
        return value
    return None
