"""ModelConfig: what a model is made of, and the registry of models.

A configuration imports its networks when it builds them: to name and to check a model takes no torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from rate.errors import ConfigError
from rate.nn.encoding import EARLIER, EncoderConfig
from rate.registry import Registry
from rate.serial import ABSENT
from rate.types import Spaces

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from rate.models.policy import SequencePolicy

    D = TypeVar("D", bound=DataclassInstance)


@dataclass(frozen=True, kw_only=True)
class ModelConfig(ABC):
    """What a model is made of. Sizes that the data decides (spaces) are not configuration."""

    name: str
    """The name under which the model is registered and reported."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig, metadata={ABSENT: EARLIER})
    """How observations become tokens."""

    @abstractmethod
    def build(self, spaces: Spaces) -> SequencePolicy[Any]:
        """The policy with freshly initialised weights."""

    def check_window(self, window: int) -> None:  # noqa: B027  (any window will do, unless a model says otherwise)
        """Raise ConfigError if the model cannot be trained on windows of this many steps."""


def part_of(config: ModelConfig, kind: type[D], prefix: str = "", **others: Any) -> D:
    """The configuration of a network: what the model's own says under the same names, or behind a prefix.

    `others` are the fields that the two do not name alike.
    """
    names = {item.name: f"{prefix}{item.name}" for item in fields(kind) if item.name not in others}
    return kind(**{name: getattr(config, own) for name, own in names.items() if hasattr(config, own)}, **others)


def check_sizes(config: ModelConfig, *fields: str, least: int = 1) -> None:
    """Refuse what is too small."""
    for name in fields:
        if getattr(config, name) < least:
            raise ConfigError(f"model.{name} is {getattr(config, name)}; it must be at least {least}")


def check_share(config: ModelConfig, *fields: str) -> None:
    """Refuse what is no probability below 1."""
    for name in fields:
        if not 0 <= getattr(config, name) < 1:
            raise ConfigError(f"model.{name} is {getattr(config, name)}; it must be at least 0 and below 1")


def check_heads(heads: int, kv_heads: int, head_width: int) -> None:
    """Refuse query heads that cannot share the key heads, and heads that cannot be turned."""
    if heads % kv_heads:
        raise ConfigError(f"model.heads = {heads} is not a multiple of model.kv_heads = {kv_heads}")
    if head_width % 2:
        raise ConfigError(f"model.head_width = {head_width} must be even (rotary positions turn pairs)")


def check_choice(config: ModelConfig, field: str, kind: Any) -> None:
    """Refuse what the Literal does not name."""
    if getattr(config, field) not in get_args(kind):
        raise ConfigError(f"model.{field} is {getattr(config, field)!r}; it must be {' or '.join(get_args(kind))}")


MODELS: Registry[Callable[..., ModelConfig]] = Registry("model", "rate list models")
"""Name to a function (window, **fields) -> config: the preset of the model for windows of that many steps."""


def check_context(context: int, window: int) -> None:
    """Refuse windows of another length than the context that a model acts with."""
    if window != context:
        raise ConfigError(
            f"train.window = {window} differs from model.context = {context}; "
            "a sliding model is trained on the window that it acts with: set both to one value"
        )
