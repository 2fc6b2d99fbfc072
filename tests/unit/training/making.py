"""A trainer as `train_run` makes it, in the hand of a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from integration.tiny import config
from rate.config import config_to_json
from rate.data.windows import Windows, split_episodes
from rate.experiment import seed_everything
from rate.experiment.data import prepare_data
from rate.experiment.train import fit, unroll_of
from rate.objectives import BehaviourCloning, Objective
from rate.training.ranks import Ranks
from rate.training.run_dir import RunDir
from rate.training.trainer import Trainer


def trainer_of(
    path: Path,
    objective: Objective | None = None,
    *,
    model: Mapping[str, Any] | None = None,
    ranks: Ranks | None = None,
    **fields: Any,
) -> Trainer:
    """Of the tiny run; `fields` are of its TrainConfig."""
    run = config(**fields)
    run = replace(run, model=replace(run.model, **(model or {})))
    store = prepare_data("tmaze", run.data)
    train, valid = split_episodes(len(store), run.data.validation_fraction, run.data.seed)
    seed_everything(run.seed)
    policy = run.model.build(store.spaces)
    fit(run, store, policy)
    return Trainer(
        policy=policy,
        objective=objective or BehaviourCloning(unroll_of(run.train)),
        config=run.train,
        run=RunDir.open(path) if path.exists() else RunDir.create(path, config_to_json(run), {}, {}),
        train=Windows(store, train, length=run.train.window, seed=run.seed),
        valid=Windows(store, valid, length=run.train.window, seed=run.seed),
        device=torch.device("cpu"),
        stored_config=config_to_json(run),
        ranks=ranks,
    )
