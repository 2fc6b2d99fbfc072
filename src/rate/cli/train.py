"""`rate train`: a recipe, or data of your own, edited by options, trained in a run directory.

The options are the fields of the configuration, so they differ from recipe to recipe.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rate import plugins
from rate.cli.console import OUT, bar, note
from rate.cli.parse import parse, set_threads
from rate.config import RunConfig, config_from_json, edit, implied
from rate.data.open import PREFIX, full_name, open_data
from rate.envs.find import is_code
from rate.errors import ConfigError, RateError
from rate.experiment import data_root, train_run
from rate.experiment.own import named_env, own
from rate.models import MODELS
from rate.objectives import OBJECTIVES
from rate.recipes import RECIPES, recipe
from rate.registry import families
from rate.system.files import read_json, reading
from rate.training.checkpoint import CARD
from rate.training.run_dir import RunDir
from rate.training.torchrun import joined, own_device, said_once

USAGE = (
    "rate train RECIPE [--data DATA] [--FIELD VALUE ...] [--objective NAME] [--out DIR] [--resume] [--threads N] "
    "[--json]\n       rate train --data DATA [--env ENV] [--model NAME] [--FIELD VALUE ...] [the same options]"
    "\n       rate train --from RUN [--data DATA] [--FIELD VALUE ...] [the same options]"
    "\n       rate train --out DIR --resume [--env ENV]"
)
WITHOUT_RECIPE = """
--data   data of your own: a directory, or the id of a Minari data set on this disk
--env    where to evaluate: a registered name, a Gymnasium id, or module:factory; else the one that the data names;
         with --resume or --from: the one of the run, which must be named again if it is module:factory
--model  as `rate list models` shows it; by default rate
--from   a run, or a checkpoint directory, to begin with the weights of; without a recipe, with its configuration too"""

OPTIONS = ("--out", "--threads", "--objective", "--data", "--env", "--model", "--from", "--resume", "--json")
"""Of the command; the others are fields of the configuration."""


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
        recipes = f"recipes: {', '.join(families(RECIPES.names()))}; all names: rate list recipes"
        OUT.print(f"usage: {USAGE}\n{WITHOUT_RECIPE}\n\n{recipes}\n\nfields: rate train RECIPE --help", markup=False)
        return
    if {"-h", "--help"} & set(args):
        OUT.print(f"usage: {USAGE}\n", markup=False)
    with said_once():
        chosen = read_arguments(args)
        set_threads(chosen.threads)
    config = chosen.config
    with (
        joined(own_device(config.train.device), config.train.batch_size) as ranks,
        bar("training", config.train.steps, shown=ranks.writes) as progress,
    ):
        run = train_run(
            config,
            chosen.out,
            resume=chosen.resume,
            command=["rate", "train", *args, *plugins.options()],
            on_episode=progress.on_episode,
            on_step=progress.on_step,
            on_note=note,
            ranks=ranks,
        )
    if not ranks.writes:
        return
    if chosen.json:
        print(json.dumps({"run": str(run.path), "step": run.step, "parameters": run.policy.parameter_count()}))
    else:
        done = f"trained to step {run.step}" if progress.moved else f"already trained to step {run.step}, nothing to do"
        env = ["--env", config.env.name] if is_code(config.env.name) else []
        again = " ".join(["rate eval", str(run.path), *env, *plugins.options()])
        OUT.print(f"{done}: {run.path}{progress.summary}\nevaluate it with: {again}", markup=False)


def read_arguments(args: Sequence[str]) -> TrainArguments:
    """Options of the command are taken out; the rest edits the configuration."""
    rest = list(args)
    out, threads, objective = _take(rest, "--out"), _take(rest, "--threads"), _take(rest, "--objective")
    data, env, model, start = (_take(rest, name) for name in ("--data", "--env", "--model", "--from"))
    resume, as_json = _flag(rest, "--resume"), _flag(rest, "--json")
    named = bool(rest) and not rest[0].startswith("-")
    if start and model:
        raise ConfigError("--from RUN has the model of the run; leave --model away")
    stored = not named and bool(start or (out and resume and data is None))
    if ((env and not stored) or model) and (named or not data):
        given = "--env" if env else "--model"
        raise ConfigError(f"{given} goes with --data and without a recipe; a recipe has both, see rate list recipes")
    name = rest.pop(0) if named else ""
    if named:
        default = edit(recipe(name), {"data.path": full_name(data)} if data else {})
    elif start and not (out and resume):
        begun = started_from(start)
        default = edit(begun, {"data.path": full_name(data)} if data else {})
        default = edit(default, {"env.name": env} if env else {})
    elif data:
        default = own_config(full_name(data), env, model or "rate", _window(rest), _asked(rest))
    elif out and resume:
        started = RunDir.open(Path(out))
        default = config_from_json(started.read_config(), started.config)
        default = edit(default, {"env.name": env} if env else {})
    else:
        raise ConfigError(f"which recipe, or which --data? usage: {USAGE}")
    if objective is not None:  # another class with other fields, so it is chosen before they are read
        default = edit(default, {"objective": OBJECTIVES.get(objective)(name=objective)})
    default = edit(default, {"train.start_from": start} if start else {})
    config = parse_config(rest, f"rate train {name}".strip(), default)
    where = Path(out) if out else Path("runs") / slug(config) / f"{config.model.name}-seed{config.seed}"
    return TrainArguments(config=config, out=where, resume=resume, threads=_number(threads), json=as_json)


def started_from(path: str) -> RunConfig:
    """The configuration of the run whose weights are taken."""
    card = Path(path) / CARD
    with reading(card):
        found = read_json(card)["config"] if card.exists() else RunDir.open(Path(path)).read_config()
    return config_from_json(found, path)


def parse_config(args: list[str], prog: str, default: RunConfig) -> RunConfig:
    """The configuration with the options; its help shows the values that they lead to."""
    fields = ("train.window", "model.context", "model.segment_len", "train.segment_lens")
    flags = {name: f"--{name.replace('_', '-')}" for name in fields}
    given = {name: _peek(args, flag) or "" for name, flag in flags.items() if _names(args, flag)}
    more = [text for name, value in implied(default, given).items() for text in (flags[name], *_texts(value))]
    asked = [text for text in args if text not in ("-h", "--help")]
    if len(asked) == len(args):
        return parse(RunConfig, [*args, *more], prog, OPTIONS, default=default)
    try:
        default = parse(RunConfig, [*asked, *more], prog, OPTIONS, default=default)
    except RateError as reason:
        note(f"{reason}; these are the values without the options")
    return parse(RunConfig, ["--help"], prog, default=default)


def _names(args: list[str], flag: str) -> bool:
    return any(text == flag or text.startswith(f"{flag}=") for text in args)


def _texts(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]


def _window(args: list[str]) -> int | None:
    """The window that the options name, where they name a possible one."""
    text = _peek(args, "--train.window") or _peek(args, "--model.context") or ""
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _asked(args: list[str]) -> dict[str, Any]:
    """What the options say of the length of evaluated episodes, where it can be read."""
    flag, steps = "--eval.cases", _peek(args, "--eval.max-steps") or ""
    behind = args[args.index(flag) + 1 :] if flag in args else [_peek(args, flag) or "--"]
    cases = tuple(itertools.takewhile(lambda text: not text.startswith("--"), behind))
    limit = {"max_steps": int(steps)} if steps.isdecimal() and int(steps) > 0 else {}
    return {**({"cases": cases} if cases else {}), **limit}


def own_config(
    source: str, env: str | None, model: str, window: int | None = None, asked: Mapping[str, Any] | None = None
) -> RunConfig:
    """The recipe for one's own data; the environment is the given one, else the one that the data names."""
    MODELS.get(model)  # said before anything else
    store = open_data(source, data_root())
    if env is None:
        env, reason = named_env(store)
        if reason:
            note(f"{reason}; training without an environment")
    return own(store, source, env, model, window, asked, note)


def slug(config: RunConfig) -> str:
    """A path for the runs of an environment, or of data without one, that stays below its directory."""
    name = config.env.name or config.data.path.removeprefix(PREFIX)
    parts = (re.sub(r"[^A-Za-z0-9_.-]+", "-", part).strip("-.") for part in name.split("/"))
    return "/".join(part for part in parts if part) or "own"


def _number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        raise ConfigError(f"--threads takes a whole number, not {text!r}") from None


def _peek(args: Sequence[str], name: str) -> str | None:
    """The value of an option, which is left where it is; None where it is not given as one."""
    given = list(args)
    try:
        return _take(given, name)
    except ConfigError:
        return None


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
