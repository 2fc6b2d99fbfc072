"""From a configuration to a trained run: data, policy, trainer and evaluator put together."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from rate.config import RunConfig, config_to_json, differences
from rate.data.store import TrajectoryStore
from rate.data.windows import Windows, check_oracle, split_episodes
from rate.envs import ENVS
from rate.envs.spec import spaces_of
from rate.errors import ConfigError
from rate.evaluation.evaluator import Evaluator, cases_of
from rate.experiment.data import OnEpisode, prepare_data, shares_seeds
from rate.experiment.run import Run
from rate.models import SequencePolicy, unroll
from rate.objectives.objective import Objective, Unroll
from rate.registry import check_names
from rate.seeding import Purpose
from rate.training import trainer as training
from rate.training.checkpoint import load_checkpoint, resolve_checkpoint
from rate.training.config import TrainConfig
from rate.training.device import environment_record, pick_device
from rate.training.lock import locked
from rate.training.run_dir import RunDir
from rate.types import Spaces

OnNote = Callable[[str], None]


def train_run(
    config: RunConfig,
    out: Path | str,
    *,
    resume: bool = False,
    command: Sequence[str] | None = None,
    on_episode: OnEpisode | None = None,
    on_step: training.OnStep | None = None,
    on_note: OnNote | None = None,
) -> Run:
    """Train in the directory `out`; with `resume`, go on where its last checkpoint is.

    `command` is the command line, to be kept with the run; `on_note` is told what the user should know.
    """
    out = Path(out)
    stored = config_to_json(config)
    exists = (out / "config.json").exists()
    if exists and resume:
        check_same_config(RunDir.open(out), stored)
        if _is_trained(RunDir.open(out), config.train):
            return Run.load(out)
    else:
        RunDir(out).check_free()
    device = pick_device(config.train.device)
    if not config.data.path:  # what cannot work is said before anything is collected
        _learner(config, spaces_of(ENVS.get(config.env.name)))
    store = prepare_data(config.env.name, config.data, on_episode)
    if on_note is not None and config.data.path and shares_seeds(store, config.eval):
        on_note("the data holds seeds that evaluation uses; set --eval.seed to another value")
    seed_everything(config.seed)
    policy, objective = _learner(config, store.spaces)
    if policy.spaces.oracle is not None:
        check_oracle(store, config.data.oracle, policy.spaces.oracle)
    windows = _windows(config, store, objective.lookahead)
    started = environment_record(device, command), _meta(config)
    run = RunDir.open(out) if exists else RunDir.create(out, stored, *started)
    with locked(out):
        run.describe(*started)
        trainer = _trainer(config, run, (policy, objective), windows, device)
        trainer.on_step = on_step
        trainer.resume()
        trainer.fit()
    return Run.load(out)


def _trainer(
    config: RunConfig,
    run: RunDir,
    learner: tuple[SequencePolicy[Any], Objective],
    windows: tuple[Windows, Windows | None],
    device: torch.device,
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
        evaluate=_periodic(config) if config.train.evaluate_every else None,
    )


def check_same_config(run: RunDir, stored: Mapping[str, Any]) -> None:
    """Refuse a run directory that another configuration was trained in."""
    changed = differences(run.read_config(), stored)
    if changed:
        what = changed[0] or "configuration"
        raise ConfigError(f"{run.path} was started with another {what}; resume it with its own configuration")


def _is_trained(run: RunDir, config: TrainConfig) -> bool:
    """Whether nothing is left to train, told by the last checkpoint alone: data and windows may take minutes."""
    if not (run.checkpoints / "last").exists():
        return False
    with locked(run.path):
        last = load_checkpoint(resolve_checkpoint(run.checkpoints, "last"), training=True)
        over = training.Progress.of(last).is_over(config)
        if over:
            run.cut_metrics(last.step)
    return over


def _meta(config: RunConfig) -> dict[str, Any]:
    spec = ENVS.get(config.env.name)
    metric = "success_rate" if spec.success else "return"
    return {"train_length": config.train.window, "axis": spec.axis, "axis_unit": spec.axis_unit, "metric": metric}


def with_oracle(config: RunConfig, spaces: Spaces) -> Spaces:
    """The spaces, and that of the privileged fact where the policy is told one."""
    oracle, facts = config.data.oracle, ENVS.get(config.env.name).oracle
    if not oracle:
        return spaces
    check_names([oracle], facts, f"oracle of {config.env.name}:")
    if isinstance(facts[oracle], (gym.spaces.Dict, gym.spaces.Tuple)):
        raise ConfigError(f"the oracle {oracle!r} of {config.env.name} must be one array, not {facts[oracle]}")
    return replace(spaces, oracle=facts[oracle])


def _learner(config: RunConfig, spaces: Spaces) -> tuple[SequencePolicy[Any], Objective]:
    """Policy and objective with fresh weights; ConfigError where they cannot work together."""
    policy = config.model.build(with_oracle(config, spaces))
    if config.data.oracle and not policy.told:
        raise ConfigError(f"{config.model.name} is told nothing; leave data.oracle empty, or train oracle-dt")
    if config.train.bptt_segments and policy.segment_len is None:
        raise ConfigError(f"{config.model.name} has no segments; leave train.bptt_segments at None")
    return policy, config.objective.build(policy, _unroll(config.train))


def _unroll(config: TrainConfig) -> Unroll:
    return partial(unroll, bptt_segments=config.bptt_segments, recompute=config.recompute)


def _windows(config: RunConfig, store: TrajectoryStore, lookahead: int) -> tuple[Windows, Windows | None]:
    data = config.data
    train_ids, valid_ids = split_episodes(len(store), data.validation_fraction, data.seed)

    def cut(ids: Any) -> Windows:
        return Windows(
            store,
            ids,
            length=config.train.window,
            start=data.start,
            return_scale=data.return_scale,
            oracle=data.oracle,
            lookahead=lookahead,
            seed=config.seed,
        )

    return cut(train_ids), cut(valid_ids) if len(valid_ids) else None


def _periodic(config: RunConfig) -> training.Evaluate:
    """Evaluation during training, on the first case and on seeds that no report uses."""
    spec = ENVS.get(config.env.name)
    case = cases_of(spec, config.eval.cases[:1] or ("",))[0]
    judge = replace(config.eval, episodes=config.train.evaluate_episodes)
    evaluator = Evaluator(
        spec=spec,
        config=judge,
        return_scale=config.data.return_scale,
        oracle=config.data.oracle,
        purpose=Purpose.VALIDATION,
    )

    def evaluate(policy: SequencePolicy[Any], step: int) -> Mapping[str, float]:
        result = evaluator.run(policy, case, checkpoint="training", step=step)
        rates = {"success_rate": result.success_rate} if result.success_rate else {}
        values = {"return_mean": result.return_mean, **rates}
        return {f"eval/{case.name}/{name}": interval.value for name, interval in values.items()}

    return evaluate


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch on every device."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
