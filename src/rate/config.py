"""RunConfig: everything that decides a run, frozen, and its JSON form.

A recipe returns one; the command line edits it; the run directory keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rate.data.windows import DataConfig
from rate.envs import ENVS
from rate.errors import CheckpointError, ConfigError, RateError
from rate.evaluation.evaluator import EvalConfig, cases_of
from rate.models import CONFIG_CLASSES, MODELS, ModelConfig
from rate.objectives import OBJECTIVES
from rate.registry import check_names
from rate.serial import from_dict, to_dict
from rate.training.config import TrainConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


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


def edit(config: T, changes: Mapping[str, Any]) -> T:
    """A copy with other values: edit(config, {"seed": 1, "model.memory_tokens": 5})."""
    nested: dict[str, dict[str, Any]] = {}
    values: dict[str, Any] = {}
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        check_names([head], [item.name for item in fields(config)], f"field of {type(config).__name__}:")
        (nested.setdefault(head, {}) if rest else values)[rest or head] = value
    return replace(config, **values, **{head: edit(getattr(config, head), inner) for head, inner in nested.items()})


def config_to_json(config: RunConfig) -> dict[str, Any]:
    data: dict[str, Any] = to_dict(config)
    return data


def config_from_json(data: Any, where: Path | str) -> RunConfig:
    """The configuration that a file holds; `where` is the file, for whoever must look at it."""
    try:
        return from_dict(RunConfig, data, CONFIG_CLASSES.get)
    except (RateError, TypeError, ValueError) as reason:
        raise CheckpointError(f"{where} does not hold the configuration of a run: {reason}") from None


def differences(one: Any, other: Any, prefix: str = "") -> list[str]:
    """Names of the fields in which two JSON configurations differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(set(one) | set(other))
        return [name for key in keys for name in differences(one.get(key), other.get(key), f"{prefix}.{key}")]
    return [] if one == other else [prefix.removeprefix(".")]
