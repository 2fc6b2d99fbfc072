"""Encoder: a token of width D from one part of an observation.

A model names its encoder and the fields of it in `model.encoder`; parts that it does not serve get the default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import gymnasium as gym
from torch import Tensor, nn

from rate.nn.encoding import EncoderConfig
from rate.nn.unit import Choices, Unit
from rate.types import Tree


class Encoder(nn.Module, ABC):
    """Built as Encoder(space, width, config); it takes any number of leading axes, those of a segment or of a step."""

    unit: Unit | Choices | None
    """In which units it takes its input, where those can be fitted to the data."""

    @staticmethod
    @abstractmethod
    def serves(space: gym.Space[Any]) -> bool:
        """Whether it can encode values of the space."""

    @abstractmethod
    def __init__(self, space: Any, width: int, config: EncoderConfig) -> None:
        super().__init__()
        self.unit = None

    @abstractmethod
    def forward(self, x: Tree) -> Tensor:
        """(..., *shape) -> (..., D)."""
