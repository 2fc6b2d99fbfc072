"""RunConfig: everything that decides a run, frozen, and its JSON form.

A recipe returns one; the command line edits it; the run directory keeps it.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rate.data.config import DataConfig
from rate.envs.find import find_env
from rate.envs.success import Rule
from rate.errors import CheckpointError, ConfigError, RateError, UnknownNameError
from rate.evaluation.evaluator import EvalConfig, cases_of
from rate.models import MODELS, ModelConfig
from rate.objectives import OBJECTIVES, BehaviourCloningConfig, ObjectiveConfig
from rate.registry import CONFIG_CLASSES, check_names
from rate.serial import check_types, flat, from_dict, to_dict, typed
from rate.system.files import reading
from rate.training.config import TrainConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """The environment that a run is about."""

    name: str
    """A registered name, a Gymnasium id, or module:factory; empty: there is only data. One that a file gave (Stored)
    is not imported."""
    success: str = ""
    """When an episode is a success: "return >= 1" or "length < 200"; empty: as the environment says, if it does."""

    def __post_init__(self) -> None:
        check_types(self, "env.")
        if self.success:
            Rule.read(self.success)

    @property
    def rule(self) -> Rule | None:
        return Rule.read(self.success) if self.success else None


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One run: environment, data, model, training, evaluation."""

    recipe: str
    """The recipe this configuration started from."""
    env: EnvConfig
    model: ModelConfig
    objective: ObjectiveConfig = field(default_factory=BehaviourCloningConfig)
    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    eval: EvalConfig = field(default_factory=EvalConfig)
    seed: int = 0
    """Seed of weights, dropout and the order of the data."""

    def __post_init__(self) -> None:
        check_types(self)
        check_seed("seed", self.seed)
        check_seed("eval.seed", self.eval.seed)
        MODELS.get(self.model.name)
        OBJECTIVES.get(self.objective.name)
        if self.env.name:
            cases_of(find_env(self.env.name), (*self.eval.cases, *self.train.evaluate_cases))
        elif not self.data.path or self.train.evaluate_every:
            raise ConfigError("env.name is empty: without an environment set data.path, and train.evaluate_every to 0")
        self.model.check_window(self.train.window)
        if self.train.segment_lens:
            self._check_segment_lens(self.train.segment_lens)
        if self.train.cache_tokens:
            self._check_cache_tokens(self.train.cache_tokens)

    def _check_segment_lens(self, lengths: tuple[int, ...]) -> None:
        own = getattr(self.model, "segment_len", None)
        if own is None:
            raise ConfigError(f"{self.model.name} has no segments; leave train.segment_lens empty")
        if own not in lengths:
            known = " ".join(map(str, lengths))
            raise ConfigError(f"train.segment_lens = {known} leaves out the policy's own: model.segment_len = {own}")
        window = self.train.window
        for length in lengths:
            if window % length:
                raise ConfigError(f"train.segment_lens holds {length}, which does not divide train.window = {window}")

    def _check_cache_tokens(self, lengths: tuple[int, ...]) -> None:
        own = getattr(self.model, "cache_tokens", None)
        if own is None:
            raise ConfigError(f"{self.model.name} has no cache; leave train.cache_tokens empty")
        known = f"train.cache_tokens = {' '.join(map(str, lengths))}"
        if lengths[-1] != own:
            raise ConfigError(f"{known} must end with the policy's own: model.cache_tokens = {own}")
        if 0 in lengths and not getattr(self.model, "memory_tokens", 0):
            raise ConfigError(f"{known} holds 0, but {self.model.name} has no memory: nothing would be carried")


def check_seed(name: str, seed: int) -> None:
    """Seeds are those that every generator takes."""
    if not 0 <= seed < 2**63:
        raise ConfigError(f"{name} is {seed}; it must not be negative, and below 2**63")


def edit(config: T, changes: Mapping[str, Any]) -> T:
    """A copy with other values: edit(config, {"seed": 1, "model.width": 32, "train": {"steps": 5}}).

    A whole part comes first, then what is changed in it: edit(config, {"model": other, "model.width": 32}).
    """
    if not isinstance(changes, Mapping) or not all(isinstance(name, str) for name in changes):
        raise ConfigError(f"changes are given as {{name: value}} with names of fields, not as {changes!r}")
    if isinstance(config, RunConfig):
        changes = {**changes, **implied(config, flat(changes))}
    known, hints = [item.name for item in fields(config)], typing.get_type_hints(type(config))
    values: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        check_names([head], known, f"field of {type(config).__name__}:")
        if rest or isinstance(value, Mapping):
            inside.setdefault(head, {}).update({rest: value} if rest else value)
        else:
            values[head] = typed(head, value, hints[head])
    for head, inner in inside.items():
        part = values.get(head, getattr(config, head))
        if not is_dataclass(part):
            raise ConfigError(f"{head} of {type(config).__name__} is one value; it has no fields to change")
        values[head] = edit(typing.cast("DataclassInstance", part), inner)
    return replace(config, **values)


def implied(config: RunConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """What follows from given values: a sliding model is trained on the window that it acts with, so one sets both.

    And where segments become shorter in training, those lengths follow the window and the segments of the policy.
    """
    window, context, segment, lengths = "train.window", "model.context", "model.segment_len", "train.segment_lens"
    before = config.train.window, getattr(config.model, "segment_len", None)
    model = given.get("model", config.model)
    now = given.get(window, before[0]), given.get(segment, getattr(model, "segment_len", None))
    if config.train.segment_lens and lengths not in given and list(map(str, now)) != list(map(str, before)):
        return {lengths: () if now[1] is None else _rescaled(config.train.segment_lens, before, now)}
    if getattr(config.model, "context", None) != config.train.window or (window in given) == (context in given):
        return {}
    return {window: given[context]} if context in given else {context: given[window]}


def _rescaled(lengths: Sequence[int], before: Sequence[Any], now: Sequence[Any]) -> tuple[int, ...]:
    """Lengths for another window and other segments: as long beside them as before, where that divides the window."""
    try:
        (old_window, old_segment), (window, segment) = map(int, before), map(int, now)
    except ValueError:  # words that are no numbers are refused where they are read
        return ()
    found = (window * one // old_window if one > old_segment else segment * one // old_segment for one in lengths)
    return tuple(one for one in found if one and window % one == 0)


def config_to_json(config: RunConfig) -> dict[str, Any]:
    data: dict[str, Any] = to_dict(config)
    return data


def config_from_json(data: Any, where: Path | str) -> RunConfig:
    """The configuration that a file holds; `where` is the file. Nothing is imported, whatever it names."""
    with reading(where):
        try:
            return from_dict(RunConfig, data, CONFIG_CLASSES.get)
        except UnknownNameError as reason:
            hint = "if it is of a module of your own, add --import MODULE"
            raise CheckpointError(f"{where} does not hold the configuration of a run: {reason}; {hint}") from None
        except (RateError, TypeError, ValueError) as reason:
            raise CheckpointError(f"{where} does not hold the configuration of a run: {reason}") from None


def differences(one: Any, other: Any, prefix: str = "") -> list[str]:
    """Names of the fields in which two JSON configurations differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(set(one) | set(other))
        return [name for key in keys for name in differences(one.get(key), other.get(key), f"{prefix}.{key}")]
    return [] if one == other else [prefix.removeprefix(".")]
