"""The encoders by name and what they are made of; the networks are in `nn/encoders.py` and `nn/image_encoders.py`.

They are imported when one is built, so that a name can be checked and listed without torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from rate.errors import ConfigError
from rate.registry import CONFIG_CLASSES, Registry

if TYPE_CHECKING:
    from rate.nn.encoder import Encoder

Scale = Literal["like", "data", "sum"]
Normalise = Literal["auto", "on", "pixels", "off"]
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
    that tokens of returns, observations and actions start alike. data: the same, and choices are told without their
    mean over the training data, in units of what is left: walls that are always there hide nothing. sum: neither."""
    normalise: Normalise = "auto"
    """Give observations and actions of a Box in units of the training data; auto: where they are far from 1 there, or
    differ much in size from component to component. pixels: on, and every pixel of an image has a
    unit of its own, not every channel: a ball is small beside walls that are always there."""

    def __post_init__(self) -> None:
        if self.name not in RULES:
            ENCODERS.check(self.name)
        if any(channels < 1 for channels in self.channels):
            raise ConfigError(f"model.encoder.channels is {self.channels}; each must be at least 1")
        if self.padding < 0:
            raise ConfigError(f"model.encoder.padding is {self.padding}; it must be at least 0")
        for name, kind in (("scale", Scale), ("normalise", Normalise)):
            if getattr(self, name) not in get_args(kind):
                found = f"model.encoder.{name} is {getattr(self, name)!r}"
                raise ConfigError(f"{found}; it must be {' or '.join(get_args(kind))}")

    @property
    def normalises(self) -> bool:
        """Whether there are units to be fitted, whatever the data makes of them."""
        return self.normalise != "off"

    def mean_of(self, parts: int) -> float:
        """What a sum of so many parts is multiplied by."""
        return 1.0 if self.scale == "sum" or parts < 1 else parts**-0.5


EARLIER = EncoderConfig(name="classic", scale="sum", normalise="off")
"""What every model had before it named its encoder; configurations that are stored without one mean this."""


ENCODERS: Registry[type[Encoder]] = Registry("encoder", "rate list encoders")
"""Name to class."""

ENCODERS.announce("ENCODERS", "rate.nn.encoders", "rate.nn.image_encoders")
