"""From a configuration to a trained and evaluated run: data, policy, trainer, evaluator put together.

This is the Python face of `rate train` and `rate eval`; the command line only adds bars and lines.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rate.config import RunConfig, config_from_json, config_to_json, differences
from rate.data.collect import collect, dataset_name
from rate.data.open import open_data
from rate.data.spaces import same_space
from rate.data.store import TrajectoryStore, is_store
from rate.data.windows import DataConfig, Windows, parse_options, split_episodes
from rate.envs import ENVS
from rate.envs.spec import CollectRequest, EnvSpec, EvalCase, spaces_of
from rate.errors import CheckpointError, ConfigError, DataError
from rate.evaluation.evaluator import CaseResult, EvalConfig, Evaluator, OnStep, cases_of
from rate.models import SequencePolicy
from rate.models.actor import Actor
from rate.objectives import OBJECTIVES
from rate.seeding import Purpose
from rate.training import trainer as training
from rate.training.checkpoint import load_checkpoint, load_weights, resolve_checkpoint
from rate.training.device import environment_record, pick_device
from rate.training.run_dir import RunDir
from rate.types import Spaces

OnEpisode = Callable[[int, int], None]


def data_root() -> Path:
    """Where collected data sets are kept: $RATE_DATA, else ./data."""
    return Path(os.environ.get("RATE_DATA", "data"))


def prepare_data(env: str, config: DataConfig, on_episode: OnEpisode | None = None) -> TrajectoryStore:
    """Open the data of a run; what the expert has not demonstrated yet is collected, once per request."""
    spec, root = ENVS.get(env), data_root()
    if config.path:
        store = open_data(config.path, root)
        check_environment(store, spec)
        return store
    request = CollectRequest(episodes=config.episodes, seed=config.seed, kwargs=parse_options(config.options))
    path = root / dataset_name(spec, request)
    if not is_store(path):
        _collect_aside(spec, request, path, on_episode)
    return open_data(str(path), root)


def _collect_aside(spec: EnvSpec, request: CollectRequest, path: Path, on_episode: OnEpisode | None) -> None:
    """Collect beside the place and move there, so that runs may be killed, or collect the same data, at any time."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        collect(spec, request, aside, on_episode)
        if not is_store(path):
            os.replace(aside, path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_environment(store: TrajectoryStore, spec: EnvSpec) -> None:
    """Refuse data of another environment."""
    spaces = spaces_of(spec)
    for kind in ("observation", "action"):
        mine, theirs = getattr(store.spaces, kind), getattr(spaces, kind)
        if not same_space(mine, theirs):
            raise DataError(f"the data set has {kind}s {mine}, the environment {spec.name!r} has {theirs}: they differ")


def train_run(
    config: RunConfig,
    out: Path | str,
    *,
    resume: bool = False,
    on_episode: OnEpisode | None = None,
    on_step: training.OnStep | None = None,
) -> Run:
    """Train in the directory `out`; with `resume`, go on where its last checkpoint is."""
    out = Path(out)
    stored = config_to_json(config)
    exists = (out / "config.json").exists()
    if exists and resume:
        _same_config(RunDir.open(out), stored)
    else:
        RunDir(out).check_free()
    device = pick_device(config.train.device)
    store = prepare_data(config.env.name, config.data, on_episode)
    train, valid = _windows(config, store)
    seed_everything(config.seed)
    policy = config.model.build(store.spaces)
    started = environment_record(device), _meta(config)
    run = RunDir.open(out) if exists else RunDir.create(out, stored, *started)
    run.describe(*started)
    trainer = training.Trainer(
        policy=policy,
        objective=OBJECTIVES.get(config.train.objective)(config.train.bptt_segments, config.train.recompute),
        config=config.train,
        run=run,
        train=train,
        valid=valid,
        device=device,
        stored_config=stored,
        evaluate=_periodic(config) if config.train.evaluate_every else None,
        on_step=on_step,
    )
    trainer.resume()
    trainer.fit()
    return Run.load(out)


def _same_config(run: RunDir, stored: Mapping[str, Any]) -> None:
    changed = differences(run.read_config(), stored)
    if changed:
        what = changed[0] or "configuration"
        raise ConfigError(f"{run.path} was started with another {what}; resume it with its own configuration")


def _meta(config: RunConfig) -> dict[str, Any]:
    spec = ENVS.get(config.env.name)
    metric = "success_rate" if spec.success else "return"
    return {"train_length": config.train.window, "axis": spec.axis, "axis_unit": spec.axis_unit, "metric": metric}


def _windows(config: RunConfig, store: TrajectoryStore) -> tuple[Windows, Windows | None]:
    data = config.data
    train_ids, valid_ids = split_episodes(len(store), data.validation_fraction, data.seed)

    def cut(ids: Any) -> Windows:
        return Windows(
            store, ids, length=config.train.window, start=data.start, return_scale=data.return_scale, seed=config.seed
        )

    return cut(train_ids), cut(valid_ids) if len(valid_ids) else None


def _periodic(config: RunConfig) -> training.Evaluate:
    """Evaluation during training, on the first case and on seeds that no report uses."""
    spec = ENVS.get(config.env.name)
    case = cases_of(spec, config.eval.cases[:1] or ("",))[0]
    judge = replace(config.eval, episodes=config.train.evaluate_episodes)
    evaluator = Evaluator(spec=spec, config=judge, return_scale=config.data.return_scale, purpose=Purpose.VALIDATION)

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


@dataclass(frozen=True, kw_only=True)
class Run:
    """A trained run: its configuration, and one of its checkpoints as a policy that can act."""

    path: Path
    config: RunConfig
    policy: SequencePolicy[Any]
    spaces: Spaces
    checkpoint: str
    step: int

    @classmethod
    def load(cls, path: Path | str, checkpoint: str = "last", device: str = "cpu") -> Run:
        """Load a run directory, or one checkpoint directory copied out of it."""
        root = Path(path)
        inside = root if (root / "checkpoint.json").exists() else None
        where = inside or resolve_checkpoint(RunDir.open(root).checkpoints, checkpoint)
        loaded = load_checkpoint(where)
        config = config_from_json(loaded.config, where)
        policy = config.model.build(loaded.spaces)
        load_weights(policy, loaded.weights, where)
        return cls(
            path=root,
            config=config,
            policy=policy.to(pick_device(device)).eval(),
            spaces=loaded.spaces,
            checkpoint=checkpoint if inside is None else where.name,
            step=loaded.step,
        )

    def actor(self, target_return: float, *, sample: bool | None = None) -> Actor:
        """A stateful actor for one environment or a batch."""
        return Actor(
            self.policy,
            target_return=target_return,
            return_scale=self.config.data.return_scale,
            sample=self.config.eval.sample if sample is None else sample,
        )

    def evaluate(
        self,
        cases: Sequence[str] = (),
        *,
        config: EvalConfig | None = None,
        on_step: OnStep | None = None,
        on_case: Callable[[CaseResult], None] | None = None,
    ) -> list[CaseResult]:
        """Evaluate on cases such as "length=90" (none: those of the configuration) and record every episode."""
        spec, chosen = ENVS.get(self.config.env.name), config or self.config.eval
        evaluator = Evaluator(spec=spec, config=chosen, return_scale=self.config.data.return_scale)
        listed: list[EvalCase] = cases_of(spec, tuple(cases) or chosen.cases or ("",))
        run, results = RunDir.open(self.path), []
        for case in listed:
            result = evaluator.run(self.policy, case, checkpoint=self.checkpoint, step=self.step, on_step=on_step)
            run.add_episodes(result.records, self._cost(result))
            results.append(result)
            if on_case is not None:
                on_case(result)
        return results

    def _cost(self, result: CaseResult) -> dict[str, Any]:
        return {
            "case": result.case.name,
            "evaluation": result.records[0].evaluation,
            "checkpoint": self.checkpoint,
            "step": self.step,
            "episodes": len(result.records),
            "seconds": result.seconds,
            "env_steps": result.env_steps,
            "ms_per_step": result.ms_per_step,
            "batch": result.batch,
            "threads": torch.get_num_threads(),
        }


def load(path: Path | str, checkpoint: str = "last", device: str = "cpu") -> Run:
    """Load a trained run."""
    return Run.load(path, checkpoint, device)


__all__ = ["CheckpointError", "Run", "data_root", "load", "prepare_data", "train_run"]
