"""Encoders: a token of width D from an observation or an action, chosen by the Gymnasium space.

All of them take any number of leading axes, so the same module serves a segment (B, T, ...) and a step (B, ...).
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from rate.errors import ConfigError
from rate.types import Tree


class VectorEncoder(nn.Module):
    """Box or MultiBinary of any shape, flattened, through one linear map (the paper's encoder for vectors)."""

    def __init__(self, shape: tuple[int, ...], width: int, scale: float = 1.0) -> None:
        super().__init__()
        self.axes, self.scale = len(shape), scale
        self.linear = nn.Linear(int(np.prod(shape)), width)

    def forward(self, x: Tensor) -> Tensor:
        lead = x.shape[: x.dim() - self.axes]
        encoded: Tensor = self.linear(x.reshape(*lead, -1).to(self.linear.weight.dtype) / self.scale)
        return encoded


class CategoryEncoder(nn.Module):
    """Discrete and MultiDiscrete: the sum of one learned row per component."""

    offset: Tensor

    def __init__(self, sizes: list[int], starts: Any, shape: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.axes = len(shape)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) - np.asarray(starts).flatten()
        self.register_buffer("offset", torch.as_tensor(first), persistent=False)
        self.table = nn.Embedding(sum(sizes), width)

    def forward(self, x: Tensor) -> Tensor:
        lead = x.shape[: x.dim() - self.axes]
        rows: Tensor = self.table(x.reshape(*lead, -1).long() + self.offset)
        return rows.sum(-2)


class ImageEncoder(nn.Module):
    """Box uint8 images: three convolutions (8/4, 4/2, 3/1), as in the paper's encoder table; pixels scaled to 0..1."""

    def __init__(self, shape: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.channels_last = shape[-1] < shape[0]
        channels, *sides = (shape[-1], *shape[:2]) if self.channels_last else shape
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, 32, 8, 4), nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(),
        )  # fmt: skip
        with torch.no_grad():
            features = self.convolutions(torch.zeros(1, channels, *sides)).shape[1]
        self.linear = nn.Linear(features, width)

    def forward(self, x: Tensor) -> Tensor:
        lead = x.shape[:-3]
        pixels = x.reshape(-1, *x.shape[-3:])
        pixels = pixels.movedim(-1, 1) if self.channels_last else pixels
        features = self.convolutions(pixels.to(self.linear.weight.dtype) / 255)
        return torch.tanh(self.linear(features)).view(*lead, -1)


class TreeEncoder(nn.Module):
    """Dict and Tuple: the sum of the encodings of the parts."""

    def __init__(self, spaces: dict[str, gym.Space[Any]], keys: list[Any], width: int) -> None:
        super().__init__()
        self.keys = keys
        self.parts = nn.ModuleList(build_encoder(space, width) for space in spaces.values())

    def forward(self, x: Tree) -> Tensor:
        encoded = [part(x[key]) for key, part in zip(self.keys, self.parts, strict=True)]
        return torch.stack(encoded).sum(0)


SMALLEST_IMAGE = 36
"""Sides below this leave nothing after the three convolutions; such images are encoded as vectors."""


def _is_image(space: gym.spaces.Box) -> bool:
    sides = sorted(space.shape)[1:]
    return len(space.shape) == 3 and space.dtype == np.uint8 and min(sides) >= SMALLEST_IMAGE


def build_encoder(space: gym.Space[Any], width: int) -> nn.Module:
    """The encoder of a space."""
    if isinstance(space, gym.spaces.Box):
        scale = 255.0 if space.dtype == np.uint8 else 1.0  # pixels, as the image encoder scales them
        return ImageEncoder(space.shape, width) if _is_image(space) else VectorEncoder(space.shape, width, scale)
    if isinstance(space, gym.spaces.MultiBinary):
        return VectorEncoder(space.shape, width)
    if isinstance(space, gym.spaces.Discrete):
        return CategoryEncoder([int(space.n)], space.start, (), width)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return CategoryEncoder([int(n) for n in space.nvec.flatten()], space.start, space.shape, width)
    if isinstance(space, gym.spaces.Dict):
        return TreeEncoder(dict(space.spaces), list(space.spaces), width)
    if isinstance(space, gym.spaces.Tuple):
        return TreeEncoder({str(i): part for i, part in enumerate(space.spaces)}, list(range(len(space.spaces))), width)
    raise ConfigError(f"observations of the space {space} are not supported")
