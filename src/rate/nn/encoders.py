"""Encoders chosen by the Gymnasium space: vectors, categories, trees of both; images have a module of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rate.errors import ConfigError
from rate.images import image_layout
from rate.nn.encoder import Encoder
from rate.nn.encoding import EARLIER, ENCODERS, RULES, EncoderConfig
from rate.nn.tracing import is_tracing
from rate.nn.unit import CLIP, Choices, Unit
from rate.spaces import branches
from rate.types import Tree

__all__ = ["EARLIER", "ENCODERS", "Encoder", "EncoderConfig", "build_encoder", "units"]

NATURE_SIDE = 36
"""Sides below this leave nothing after the paper's three convolutions."""
MOST_INPUTS = 4096
"""A flat layer over more numbers is built where it is asked for, not by default."""


@ENCODERS.register("vector")
class VectorEncoder(Encoder):
    """Numbers of any shape, flattened, through one linear map: the paper's encoder for vectors."""

    unit: Unit

    @staticmethod
    def serves(space: gym.Space[Any]) -> bool:
        return isinstance(space, (gym.spaces.Box, gym.spaces.MultiBinary))

    def __init__(self, space: gym.spaces.Box | gym.spaces.MultiBinary, width: int, config: EncoderConfig) -> None:
        super().__init__(space, width, config)
        self.axes = len(space.shape)
        bytes_of_pixels = isinstance(space, gym.spaces.Box) and space.dtype == np.uint8
        scale = np.full(space.shape, 255.0 if bytes_of_pixels else 1.0)
        fitted = config.normalises and isinstance(space, gym.spaces.Box)
        self.unit = Unit(np.zeros(space.shape), scale, fitted=fitted, clip=CLIP)
        self.linear = nn.Linear(math.prod(space.shape), width)

    def forward(self, x: Tensor) -> Tensor:
        lead = x.shape[: x.dim() - self.axes]
        encoded: Tensor = self.linear(self.unit(x).reshape(*lead, -1))
        return encoded


@ENCODERS.register("category")
class CategoryEncoder(Encoder):
    """Discrete and MultiDiscrete: the sum of one learned row per component."""

    offset: Tensor
    unit: Choices | None

    @staticmethod
    def serves(space: gym.Space[Any]) -> bool:
        return isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete))

    def __init__(
        self, space: gym.spaces.Discrete[Any] | gym.spaces.MultiDiscrete[Any], width: int, config: EncoderConfig
    ) -> None:
        super().__init__(space, width, config)
        self.axes = len(space.shape or ())
        sizes = [int(n) for n in np.ravel(space.n if isinstance(space, gym.spaces.Discrete) else space.nvec)]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) - np.ravel(space.start)
        self.register_buffer("offset", torch.as_tensor(first), persistent=False)
        self.table = nn.Embedding(sum(sizes), width)
        self.share = config.mean_of(len(sizes))
        self.unit = Choices(sizes) if config.scale == "data" else None

    def forward(self, x: Tensor) -> Tensor:
        lead = x.shape[: x.dim() - self.axes]
        rows = x.reshape(-1, len(self.offset)).long() + self.offset
        table = self.table.weight
        # Rows are added as they are read: a copy of each costs ten times as much where there are many components. As a
        # graph that would be a loop.
        try:
            summed = F.embedding(rows, table).sum(1) if is_tracing() else F.embedding_bag(rows, table, mode="sum")
        except RuntimeError as error:  # a class without a row: what a table raises
            raise IndexError(str(error)) from None
        encoded = summed.view(*lead, -1)
        return _scaled(encoded, self.share) if self.unit is None else self.unit(encoded, table)


class TreeEncoder(nn.Module):
    """Dict and Tuple: the sum of the encodings of the parts."""

    def __init__(self, parts: Mapping[Any, gym.Space[Any]], width: int, config: EncoderConfig) -> None:
        super().__init__()
        self.keys = list(parts)
        self.parts = nn.ModuleList(_build(space, width, config) for space in parts.values())
        self.share = config.mean_of(len(parts))

    def forward(self, x: Tree) -> Tensor:
        encoded = [part(x[key]) for key, part in zip(self.keys, self.parts, strict=True)]
        return _scaled(torch.stack(encoded).sum(0), self.share)


def units(encoder: nn.Module, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Unit | Choices]]:
    """The units that can be fitted, each with the keys that lead to its part of the observation."""
    if isinstance(encoder, TreeEncoder):
        for key, part in zip(encoder.keys, encoder.parts, strict=True):
            yield from units(part, (*path, key))
    elif isinstance(encoder, Encoder) and encoder.unit is not None and encoder.unit.fitted:
        yield path, encoder.unit


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1.0 else x * factor


def build_encoder(space: gym.Space[Any], width: int, config: EncoderConfig | None = None) -> nn.Module:
    """The encoder of a space; ConfigError where the one that is named has nothing to do."""
    config = config or EncoderConfig()
    encoder = _build(space, width, config)
    if config.name not in RULES and not any(isinstance(part, ENCODERS.get(config.name)) for part in encoder.modules()):
        raise ConfigError(f"model.encoder.name is {config.name!r}, which serves no part of the observations {space}")
    return encoder


def _build(space: gym.Space[Any], width: int, config: EncoderConfig) -> nn.Module:
    if config.name not in RULES and ENCODERS.get(config.name).serves(space):
        return ENCODERS.get(config.name)(space, width, config)
    parts = branches(space)
    if parts is not None:
        return TreeEncoder(parts, width, config)
    if CategoryEncoder.serves(space):
        return ENCODERS.get("category")(space, width, config)
    if VectorEncoder.serves(space):
        return ENCODERS.get(_of_numbers(space, config))(space, width, config)
    raise ConfigError(f"observations of the space {space} are not supported")


def _of_numbers(space: gym.Space[Any], config: EncoderConfig) -> str:
    """The default for numbers: convolutions for images, a flat layer for vectors."""
    layout, shape = image_layout(space), tuple(space.shape or ())
    if config.name == "classic":
        classic = len(shape) == 3 and space.dtype == np.uint8 and sorted(shape)[1] >= NATURE_SIDE
        return "image" if classic else "vector"
    if layout is not None:
        return "image" if min(layout.size) >= NATURE_SIDE else "image-small"
    if math.prod(shape) > MOST_INPUTS:
        raise ConfigError(
            f"observations of the shape {shape} are no image, and flat they are {math.prod(shape)} inputs; "
            "reshape them to (channels, height, width), or set model.encoder.name vector if that is meant"
        )
    return "vector"
