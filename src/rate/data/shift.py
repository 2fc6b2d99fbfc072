"""Random shifts of images in training, after DrQ (Kostrikov et al., 2020); the border is repeated where it moves in.

All frames of a window move alike. A shift per frame would put a motion into the images that is not in the actions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from rate.errors import ConfigError
from rate.images import ImageLayout, image_layout
from rate.types import Array, Segment, Tree

if TYPE_CHECKING:
    from torch import Tensor


class Shift:
    """Moves the images of windows by up to `most` pixels, each row by a shift of its own; 0: it leaves them alone."""

    def __init__(self, space: gym.Space[Any], most: int) -> None:
        self.most, self._layouts = most, _of(space)
        if most and not _images(self._layouts):
            raise ConfigError(f"data.shift is {most}, but the observations {space} hold no image; set it to 0")

    def moved(self, window: Segment, seed: list[int], batch_size: int, rows: slice) -> Segment:
        """The window, which is some `rows` of a batch whose shifts follow from a seed."""
        if not self.most:
            return window
        by = np.random.default_rng(seed).integers(-self.most, self.most + 1, (batch_size, 2))[rows]
        return replace(window, observation=_moved(window.observation, self._layouts, by))


def _of(space: gym.Space[Any]) -> Any:
    if isinstance(space, gym.spaces.Dict):
        return {key: _of(part) for key, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Tuple):
        return tuple(map(_of, space.spaces))
    return image_layout(space)


def _images(tree: Any) -> list[ImageLayout]:
    if isinstance(tree, dict):
        return [layout for part in tree.values() for layout in _images(part)]
    if isinstance(tree, tuple):
        return [layout for part in tree for layout in _images(part)]
    return [] if tree is None else [tree]


def _moved(x: Tree, layouts: Any, by: Array) -> Tree:
    if isinstance(layouts, dict):
        return {key: _moved(x[key], part, by) for key, part in layouts.items()}
    if isinstance(layouts, tuple):
        return tuple(_moved(leaf, part, by) for leaf, part in zip(x, layouts, strict=True))
    return x if layouts is None else _rolled(x, layouts, by)


def _rolled(x: Tensor, layout: ImageLayout, by: Array) -> Tensor:
    """(B, T, *shape): row b sees the pixel at place + by[b], the nearest one of the border where that is outside."""
    import torch

    rows = list(x.unbind(0))
    for number, axis in ((0, layout.sides[0]), (1, layout.sides[1])):
        length = layout.shape[axis]
        places = np.clip(np.arange(length) + by[:, number : number + 1], 0, length - 1)
        rows = [row.index_select(1 + axis, torch.from_numpy(place)) for row, place in zip(rows, places, strict=True)]
    return torch.stack(rows)
