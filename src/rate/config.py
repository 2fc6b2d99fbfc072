"""RunConfig: everything that decides a run, frozen, and its JSON form.

A recipe returns one; the command line edits it; the run directory keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rate.data.windows import DataConfig
from rate.envs import ENVS
from rate.errors import CheckpointError, ConfigError
from rate.evaluation.evaluator import EvalConfig, cases_of
from rate.models import CONFIG_CLASSES, MODELS, ModelConfig
from rate.objectives import OBJECTIVES
from rate.serial import from_dict, to_dict
from rate.training.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """The environment that a run is about."""

    name: str


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One run: environment, data, model, training, evaluation."""

    recipe: str
    """The recipe this configuration started from."""
    env: EnvConfig
    model: ModelConfig
    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    eval: EvalConfig = field(default_factory=EvalConfig)
    seed: int = 0
    """Seed of weights, dropout and the order of the data."""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError(f"seed is {self.seed}; it must not be negative")
        MODELS.get(self.model.name)
        OBJECTIVES.get(self.train.objective)
        cases_of(ENVS.get(self.env.name), self.eval.cases)
        self.model.check_window(self.train.window)


def config_to_json(config: RunConfig) -> dict[str, Any]:
    data: dict[str, Any] = to_dict(config)
    return data


def config_from_json(data: Any) -> RunConfig:
    try:
        return from_dict(RunConfig, data, CONFIG_CLASSES.get)
    except (TypeError, ValueError) as reason:
        raise CheckpointError(f"this is not the configuration of a run: {reason}") from None


def differences(one: Any, other: Any, prefix: str = "") -> list[str]:
    """Names of the fields in which two JSON configurations differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(set(one) | set(other))
        return [name for key in keys for name in differences(one.get(key), other.get(key), f"{prefix}.{key}")]
    return [] if one == other else [prefix.removeprefix(".")]
