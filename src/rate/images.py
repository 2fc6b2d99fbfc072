"""Images among observation spaces: which axes are sides, which count channels or frames, how pixels reach 0..1.

Encoders, augmentation and storage all ask here, so that they agree on what an image is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from rate.spaces import leaves
from rate.types import Array, Tree

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST_SIDE = 5
"""Fewer pixels than this along a side are a table, not an image."""
CODES = 1 / 16
"""An image of which all values lie below this share of their range holds codes, which would all look black."""


@dataclass(frozen=True, kw_only=True)
class ImageLayout:
    """How the axes of one image are read."""

    shape: tuple[int, ...]
    """As the space has it."""
    depth: tuple[int, ...]
    """Axes that count channels or frames; all of them become channels."""
    sides: tuple[int, int]
    """Axes of height and width."""
    bounds: tuple[float, float]
    """The values that stand for 0 and 1."""

    @property
    def channels(self) -> int:
        return math.prod(self.shape[axis] for axis in self.depth)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.shape[self.sides[0]], self.shape[self.sides[1]]

    @property
    def channels_shape(self) -> tuple[int, ...]:
        """The shape of one number per channel, as it is laid beside an image."""
        return tuple(1 if axis in self.sides else length for axis, length in enumerate(self.shape))

    def planes(self, x: Tensor) -> Tensor:
        """(..., *shape) -> (N, channels, height, width), a view where that is possible; values as they are."""
        flat = x.reshape(-1, *self.shape)
        ordered = flat.permute(0, *(1 + axis for axis in (*self.depth, *self.sides)))
        return ordered.reshape(flat.shape[0], self.channels, *self.size)

    def picture(self, image: Array) -> Array:
        """(height, width, 3) bytes to look at: of a stack the newest frame, in grey unless it has three channels."""
        frame = image.transpose(*self.depth, *self.sides).reshape(self.channels, *self.size)
        coloured = self.depth and self.shape[self.depth[-1]] % 3 == 0
        low, high = self.bounds
        shares = (frame[-3 if coloured else -1 :].astype(np.float32) - low) / (high - low)
        if shares.max() < CODES:
            shares = shares / max(float(shares.max()), 1e-6)
        pixels = (255 * shares.clip(0, 1)).round().astype(np.uint8).transpose(1, 2, 0)
        return np.broadcast_to(pixels, (*self.size, 3))


def image_layout(space: gym.Space[Any]) -> ImageLayout | None:
    """The layout of a space of images; None where it is something else.

    Three axes are an image, channels first or last. Four are a stack of frames, the frames first or last. Two are an
    image of one channel where they hold bytes.
    """
    if not isinstance(space, (gym.spaces.Box, gym.spaces.MultiBinary)) or not 2 <= len(space.shape) <= 4:
        return None
    if len(space.shape) == 2 and space.dtype != np.uint8:
        return None
    depth = _depth(space.shape)
    sides = tuple(axis for axis in range(len(space.shape)) if axis not in depth)
    if min(space.shape[axis] for axis in sides) < SMALLEST_SIDE:
        return None
    return ImageLayout(shape=space.shape, depth=depth, sides=(sides[0], sides[1]), bounds=_bounds(space))


def first_image(space: gym.Space[Any], value: Tree) -> Array | None:
    """The first image in a value of a space, to look at; None where it holds none."""
    for path, leaf in leaves(space):
        if layout := image_layout(leaf):
            return layout.picture(np.asarray(reduce(getitem, path, value)))
    return None


def _depth(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that are not sides."""
    if len(shape) == 2:
        return ()
    if len(shape) == 3:
        return (2,) if _channels_last(shape) else (0,)
    if max(shape[2:]) < min(shape[:2]):  # height, width, channels, frames
        return (3, 2)
    return (0, 3) if _channels_last(shape[1:]) else (0, 1)


def _channels_last(shape: tuple[int, ...]) -> bool:
    """Sides are mostly equal; where that decides nothing, channels are fewer than pixels."""
    first, middle, last = shape
    if (first == middle) != (middle == last):
        return first == middle
    return last < first


def _bounds(space: gym.spaces.Box | gym.spaces.MultiBinary) -> tuple[float, float]:
    """Lowest and highest value; 0 and 1, which leave pixels as they are, where there is none."""
    if not isinstance(space, gym.spaces.Box):
        return 0.0, 1.0
    low, high = float(space.low.min()), float(space.high.max())
    return (low, high) if math.isfinite(high - low) and high > low else (0.0, 1.0)
