"""From a configuration to a trained run: data, policy, trainer and evaluator put together."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from rate.config import RunConfig, config_from_json, config_to_json, differences, edit
from rate.data.collect import OnEpisode
from rate.data.store import TrajectoryStore
from rate.data.windows import Windows, check_oracle
from rate.envs.find import find_env, is_code
from rate.envs.spec import spaces_of
from rate.errors import CheckpointError, ConfigError
from rate.experiment.data import check_same_data, chosen_episodes, cut_windows, never_seen, prepare_data, shares_seeds
from rate.experiment.familiar import keep_first, training_episodes
from rate.experiment.judging import Budget, periodic, too_dear
from rate.experiment.model_card import write_card
from rate.experiment.run import Run
from rate.experiment.start import read_start, start_facts, take_weights
from rate.experiment.units import fit_units
from rate.models import SequencePolicy, unroll
from rate.models.rebuild import build_policy
from rate.objectives.objective import Objective, Unroll
from rate.registry import check_names
from rate.score import Score
from rate.system.allocator import keep_memory
from rate.system.device import environment_record
from rate.system.files import as_path
from rate.training import trainer as training
from rate.training.checkpoint import Checkpoint, load_checkpoint, resolve_checkpoint
from rate.training.config import TrainConfig
from rate.training.loggers import usable
from rate.training.progress import Progress
from rate.training.ranks import Ranks
from rate.training.run_dir import RunDir, locked
from rate.training.torchrun import own_device
from rate.types import Spaces

OnNote = Callable[[str], None]


def train_run(
    config: RunConfig,
    out: Path | str,
    *,
    resume: bool = False,
    start_from: Path | str | None = None,
    command: Sequence[str] | None = None,
    on_episode: OnEpisode | None = None,
    on_step: training.OnStep | None = None,
    on_note: OnNote | None = None,
    ranks: Ranks | None = None,
) -> Run:
    """Train in the directory `out`; with `resume`, go on where its last checkpoint is.

    `start_from` is a run, or a checkpoint directory, whose weights this one begins with (train.start_from).
    `command` is the command line, to be kept with the run; `on_note` gets what the user should know. Each of several
    `ranks` calls this with the same arguments: the first makes the run, the others find it made.
    """
    out, ranks = as_path(out, "out"), ranks or Ranks()
    if not isinstance(config, RunConfig):
        raise ConfigError(f"train_run needs a configuration, not {config!r}; a recipe gives one: rate.recipe(name)")
    config = config if start_from is None else edit(config, {"train.start_from": str(start_from)})
    told = on_note if ranks.writes else None
    budget = None
    with ExitStack() as lock:
        with ranks.first_alone():
            trainer = _prepared(config, out, resume or not ranks.writes, command, on_episode, told, ranks, lock)
        if trainer is not None:
            trainer.on_step = on_step
            budget = _fit(trainer, config)
    _say(told, too_dear(budget))
    return _loaded(out, config)


def _prepared(
    config: RunConfig,
    out: Path,
    resume: bool,
    command: Sequence[str] | None,
    on_episode: OnEpisode | None,
    on_note: OnNote | None,
    ranks: Ranks,
    lock: ExitStack,
) -> training.Trainer | None:
    """Data, policy and run directory, which is held from now on; None where nothing is left to train."""
    stored = config_to_json(config)
    exists = (out / "config.json").exists()
    if exists and resume:
        check_same_config(RunDir.open(out), stored)
        if _is_trained(RunDir.open(out), config.train, stored, ranks):
            return None
    else:
        RunDir(out).check_free()
    device, loggers = own_device(config.train.device), _loggers(config, on_note)
    if not config.data.path:  # what cannot work is said before anything is collected
        _learner(config, spaces_of(find_env(config.env.name)))
    store = prepare_data(config.env.name, config.data, on_episode)
    if on_note is not None and config.data.path and config.env.name and shares_seeds(store, config.eval):
        on_note("the data holds seeds that evaluation uses; set --eval.seed to another value")
    seed_everything(config.seed)
    fresh = not (RunDir(out).checkpoints / "last").exists()
    start = read_start(config.train.start_from if fresh else "")
    policy, objective = _learner(config, store.spaces, partial(_prepare, config, store, start))
    if policy.spaces.oracle is not None:
        check_oracle(store, config.data.oracle, policy.spaces.oracle)
    if exists:
        check_same_data(RunDir.open(out), store)
    windows = cut_windows(config, store, objective.lookahead)
    _say(on_note, never_seen(windows[0]))
    run = RunDir(out)
    if ranks.writes:
        seen = training_episodes(config, store)
        facts = {**_meta(config, store), "distinct": seen and seen.counts, **start_facts(start, config)}
        started = environment_record(device, command), facts
        run = RunDir.open(out) if exists else RunDir.create(out, stored, *started)
        lock.enter_context(locked(out))
        run.describe(*started)
        keep_first(run, seen)
    trainer = _trainer(config, run, (policy, objective), windows, device, ranks)
    trainer.resumed_with = _named_again(config, loggers)
    if ranks.writes:
        trainer.loggers, trainer.on_save = loggers, partial(write_card, run, policy.parameter_count())
    return trainer


def _loggers(config: RunConfig, on_note: OnNote | None) -> list[str]:
    """The loggers to use; a file alone sends nothing anywhere."""
    own, stored = usable(config.train.loggers)
    _say(on_note, [f"a file names the logger {name}, which is not used; to use it: --train.loggers" for name in stored])
    return own


def _named_again(config: RunConfig, loggers: Sequence[str]) -> tuple[str, ...]:
    """Options that a file cannot give when the run goes on."""
    env = ("--env", config.env.name) if is_code(config.env.name) else ()
    return (*env, "--train.loggers", *loggers) if loggers else env


def _say(on_note: OnNote | None, lines: Sequence[str]) -> None:
    if on_note is not None:
        for line in lines:
            on_note(line)


def _fit(trainer: training.Trainer, config: RunConfig) -> Budget | None:
    """Train to the end, judged on the way; returns what that was allowed to cost."""
    keep_memory()
    trainer.resume()
    trainer.ranks.meet()  # the first writes from now on
    budget = Budget(since=trainer.progress.seconds) if config.train.evaluate_every is None else None
    if config.env.name and config.train.evaluate_every != 0:
        trainer.evaluate = periodic(config, budget)
    trainer.fit()
    trainer.ranks.meet()  # else others would read what is not written yet
    return budget


def _loaded(out: Path, config: RunConfig) -> Run:
    """The run, with the configuration of this process: what the user named in it stays named by the user."""
    return replace(Run.load(out), config=config)


def _trainer(
    config: RunConfig,
    run: RunDir,
    learner: tuple[SequencePolicy[Any], Objective],
    windows: tuple[Windows, Windows | None],
    device: torch.device,
    ranks: Ranks,
) -> training.Trainer:
    policy, objective = learner
    return training.Trainer(
        policy=policy,
        objective=objective,
        config=config.train,
        run=run,
        train=windows[0],
        valid=windows[1],
        device=device,
        stored_config=config_to_json(config),
        ranks=ranks,
    )


def check_same_config(run: RunDir, stored: Mapping[str, Any]) -> None:
    """Refuse a run directory that another configuration was trained in."""
    changed = differences(_completed(run.read_config(), run.path), stored)
    if changed:
        what = changed[0] or "configuration"
        raise ConfigError(f"{run.path} was started with another {what}; resume it with its own configuration")


def _completed(found: Any, where: Path) -> Any:
    """A stored configuration; fields that are younger than it have their defaults."""
    try:
        return config_to_json(config_from_json(found, where))
    except CheckpointError:  # of another version, or no configuration: it differs as it is
        return found


def _is_trained(run: RunDir, config: TrainConfig, stored: Mapping[str, Any], ranks: Ranks) -> bool:
    """Whether nothing is left to train, by the last checkpoint alone: data and windows may take minutes."""
    if not (run.checkpoints / "last").exists():
        return False
    with locked(run.path) if ranks.writes else nullcontext():
        where = resolve_checkpoint(run.checkpoints, "last")
        last = load_checkpoint(where, training=True)
        changed = differences(_completed(last.config, where), stored)
        if changed:
            what = f"{run.config} was edited: its {changed[0] or 'configuration'} is not the one of {where.name}"
            raise CheckpointError(f"{what}, which the weights were trained with; put it back")
        over = Progress.of(last).is_over(config)
        if over and ranks.writes:
            run.cut_metrics(last.step)
    return over


def _meta(config: RunConfig, store: TrajectoryStore) -> dict[str, Any]:
    """What a report cannot know from the configuration."""
    about = {"env": config.env.name, "data_return": store.card["returns"]["mean"], "data": store.digest}
    about["data_returns"] = {name: store.card["returns"].get(name) for name in ("min", "mean", "max")}
    if not config.env.name:
        return {**about, "train_length": config.train.window, "axis": None, "axis_unit": None, "metric": "return"}
    spec = find_env(config.env.name)
    score = Score(kind="success") if config.env.success else spec.score
    length = _train_length(config, store, spec.axis)
    judged = {"metric": score.name, "score": score.facts(), "tags": spec.tags}
    return {**about, "train_length": length, "axis": spec.axis, "axis_unit": spec.axis_unit, **judged}


def _train_length(config: RunConfig, store: TrajectoryStore, axis: str | None) -> float:
    """Where the data stands on the axis of the figures, such as the size of grids; if it does not say: the window."""
    known = store.card["options"].get(axis) if axis else None
    return known if isinstance(known, (int, float)) else config.train.window


def with_oracle(config: RunConfig, spaces: Spaces) -> Spaces:
    """The spaces, and that of the privileged fact where the policy takes one."""
    oracle = config.data.oracle
    if not oracle:
        return spaces
    facts = find_env(config.env.name).oracle
    check_names([oracle], facts, f"oracle of {config.env.name}:")
    if isinstance(facts[oracle], (gym.spaces.Dict, gym.spaces.Tuple)):
        raise ConfigError(f"the oracle {oracle!r} of {config.env.name} must be one array, not {facts[oracle]}")
    return replace(spaces, oracle=facts[oracle])


def fit(config: RunConfig, store: TrajectoryStore, policy: SequencePolicy[Any]) -> None:
    """Give a policy the units of the episodes that it will be trained on."""
    always = config.model.encoder.normalise in ("on", "pixels")
    fit_units(policy, store, chosen_episodes(config.data, store)[0], always=always)


def _prepare(config: RunConfig, store: TrajectoryStore, start: Checkpoint | None, policy: SequencePolicy[Any]) -> None:
    """Units of the data, then the weights of another run with its units, where one is named."""
    fit(config, store, policy)
    take_weights(policy, start, config)


def _learner(
    config: RunConfig, spaces: Spaces, prepare: Callable[[SequencePolicy[Any]], None] = lambda policy: None
) -> tuple[SequencePolicy[Any], Objective]:
    """Policy and objective with fresh weights; ConfigError where they cannot work together.

    `prepare` is called with the policy before the objective copies what it needs of it.
    """
    policy = build_policy(config.model, with_oracle(config, spaces))
    if config.data.oracle and not policy.takes_oracle:
        raise ConfigError(f"{config.model.name} is told nothing; leave data.oracle empty, or train oracle-dt")
    if config.train.bptt_segments and policy.segment_len is None:
        raise ConfigError(f"{config.model.name} has no segments; leave train.bptt_segments at None")
    prepare(policy)
    objective = config.objective.build(policy, unroll_of(config.train))
    if config.train.thinned and objective.lookahead:
        raise ConfigError("train.thinned leaves out steps that values are learnt from; set it to False")
    return policy, objective


def unroll_of(config: TrainConfig) -> Unroll:
    """How a training runs a policy over a window."""
    return partial(
        unroll,
        bptt_segments=config.bptt_segments,
        recompute=config.recompute,
        action_noise=config.action_noise,
        drawn_borders=config.borders == "drawn",
    )


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch on every device."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
