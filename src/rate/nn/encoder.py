"""Encoder: a token of width D from one part of an observation, and the registry of encoders.

A model names its encoder and the fields of it in `model.encoder`; parts that it does not serve get the default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, get_args

import gymnasium as gym
from torch import Tensor, nn

from rate.errors import ConfigError
from rate.registry import CONFIG_CLASSES, Registry
from rate.types import Tree

Scale = Literal["like", "sum"]
RULES = ("auto", "classic")
"""Names that stand for a choice by the space."""


@CONFIG_CLASSES.register("EncoderConfig")
@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """How observations become tokens."""

    name: str = "auto"
    """One of the registered encoders, for the parts of the observation that it serves; auto: by the space. classic: by
    the space as well, but only images of bytes with sides of 36 or more are convolved, and all others are flattened."""
    channels: tuple[int, ...] = ()
    """Of the convolutions of images, one number per stage; none: the encoder's own."""
    padding: int = 0
    """Pixels around an image before its convolutions (encoder image; the paper has 2 for Memory Maze)."""
    scale: Scale = "like"
    """like: sums of parts are divided by the root of their number, and convolutions keep the size of their input, so
    that tokens of returns, observations and actions start alike; sum: neither."""

    def __post_init__(self) -> None:
        if self.name not in RULES:
            ENCODERS.get(self.name)
        if any(channels < 1 for channels in self.channels):
            raise ConfigError(f"model.encoder.channels is {self.channels}; each must be at least 1")
        if self.padding < 0:
            raise ConfigError(f"model.encoder.padding is {self.padding}; it must be at least 0")
        if self.scale not in get_args(Scale):
            raise ConfigError(f"model.encoder.scale is {self.scale!r}; it must be {' or '.join(get_args(Scale))}")

    def mean_of(self, parts: int) -> float:
        """What a sum of so many parts is multiplied by."""
        return 1.0 if self.scale == "sum" or parts < 1 else parts**-0.5


EARLIER = EncoderConfig(name="classic", scale="sum")
"""What every model had before it named its encoder; configurations that are stored without one mean this."""


class Encoder(nn.Module, ABC):
    """Built as Encoder(space, width, config); it takes any number of leading axes, those of a segment or of a step."""

    @staticmethod
    @abstractmethod
    def serves(space: gym.Space[Any]) -> bool:
        """Whether it can encode values of the space."""

    @abstractmethod
    def __init__(self, space: Any, width: int, config: EncoderConfig) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, x: Tree) -> Tensor:
        """(..., *shape) -> (..., D)."""


ENCODERS: Registry[type[Encoder]] = Registry("encoder")
"""Name to class."""
