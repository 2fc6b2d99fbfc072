"""Encoders of images: the paper's three convolutions, small kernels for small images, and a residual network.

All of them read channels first or last, bytes or floats, and stacks of frames, as `image_layout` finds them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from rate.errors import ConfigError
from rate.images import image_layout
from rate.nn.encoder import Encoder
from rate.nn.encoding import ENCODERS, EncoderConfig
from rate.nn.unit import CLIP, Unit

LEAST_SPREAD = 0.05
"""Of pixels that have units of their own, as a share of the usual one: where hardly anything ever was, noise is not
made large."""


class ImageEncoder(Encoder):
    """Convolutions, one linear map and tanh; pixels are scaled to 0..1."""

    unit: Unit
    stages: tuple[int, ...] = (16, 32, 32)
    """Channels, unless the configuration names others."""

    @staticmethod
    def serves(space: gym.Space[Any]) -> bool:
        return image_layout(space) is not None

    def __init__(self, space: gym.Space[Any], width: int, config: EncoderConfig) -> None:
        super().__init__(space, width, config)
        layout = image_layout(space)
        assert layout is not None, "only images are encoded here"
        # Classic: as they were scaled before spaces were asked for their bounds.
        low, high = (0.0, 255.0) if config.name == "classic" else layout.bounds
        channels = layout.channels_shape
        fitted = config.normalises and isinstance(space, gym.spaces.Box)
        each = {"clip": CLIP, "least": LEAST_SPREAD} if config.normalise == "pixels" else {}
        shape = layout.shape if each else channels
        self.layout, self.unit = layout, Unit(np.full(shape, low), np.full(shape, high - low), fitted=fitted, **each)
        self.convolutions = nn.Sequential(*self._network(layout.channels, config), nn.Flatten())
        self.linear = nn.Linear(self._features(), width)
        if config.scale == "like":
            self.apply(keep_size)

    @abstractmethod
    def _network(self, channels: int, config: EncoderConfig) -> list[nn.Module]:
        """The convolutions of an image of so many channels."""

    def _features(self) -> int:
        height, width = self.layout.size
        try:
            with torch.no_grad():
                return int(self.convolutions(torch.zeros(1, self.layout.channels, height, width)).shape[1])
        except RuntimeError:
            found = f"images of {height} x {width} pixels are too small for these convolutions"
            raise ConfigError(f"{found}; set model.encoder.name image-small, or more model.encoder.padding") from None

    def forward(self, x: Tensor) -> Tensor:
        lead = x.shape[: x.dim() - len(self.layout.shape)]
        pixels = self.layout.planes(self.unit(x))
        return torch.tanh(self.linear(self.convolutions(pixels))).view(*lead, -1)


@ENCODERS.register("image")
class NatureEncoder(ImageEncoder):
    """Three convolutions (8/4, 4/2, 3/1), as in the paper's encoder table."""

    stages = (32, 64, 64)

    def _network(self, channels: int, config: EncoderConfig) -> list[nn.Module]:
        sizes = (channels, *(config.channels or self.stages))
        if len(sizes) != 4:
            raise ConfigError(f"model.encoder.channels is {config.channels}; the encoder image has three convolutions")
        kernels = zip(sizes, sizes[1:], (8, 4, 3), (4, 2, 1), strict=False)
        convolutions = [nn.Conv2d(*kernel, padding=config.padding) for kernel in kernels]
        return [module for convolution in convolutions for module in (convolution, nn.ReLU())]


@ENCODERS.register("image-small")
class SmallImageEncoder(ImageEncoder):
    """Kernels of 3, for images and grids of few pixels; all but the first halve the sides."""

    def _network(self, channels: int, config: EncoderConfig) -> list[nn.Module]:
        sizes = (channels, *(config.channels or self.stages))
        modules: list[nn.Module] = []
        for stage, (size, after) in enumerate(pairwise(sizes)):
            modules += [nn.Conv2d(size, after, 3, 1 if stage == 0 else 2, padding=1), nn.ReLU()]
        return modules


@ENCODERS.register("image-deep")
class DeepImageEncoder(ImageEncoder):
    """The residual network of IMPALA (Espeholt et al., 2018): each stage halves the sides and has two blocks."""

    def _network(self, channels: int, config: EncoderConfig) -> list[nn.Module]:
        sizes = (channels, *(config.channels or self.stages))
        modules: list[nn.Module] = []
        for size, after in pairwise(sizes):
            pool = nn.MaxPool2d(3, 2, padding=1)
            modules += [nn.Conv2d(size, after, 3, padding=1), pool, Residual(after), Residual(after)]
        return [*modules, nn.ReLU()]


class Residual(nn.Module):
    """Two convolutions beside a short cut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        added: Tensor = x + self.second(torch.relu(self.first(torch.relu(x))))
        return added


def keep_size(module: nn.Module) -> None:
    """Initial weights that leave values as large as they were; blocks beside short cuts add little."""
    if isinstance(module, (nn.Conv2d, nn.Linear)):
        fan_in = module.weight[0].numel()
        gain = math.sqrt(2) if isinstance(module, nn.Conv2d) else 1.5  # pixels are about half as large as 1
        nn.init.normal_(module.weight, std=gain / math.sqrt(fan_in))
        assert module.bias is not None
        nn.init.zeros_(module.bias)
    if isinstance(module, Residual):
        with torch.no_grad():
            module.second.weight.mul_(0.3)
