"""Which data a run trains on, and how windows are cut from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from rate.data.mixture import parse_mixture
from rate.data.sampling import SampleBy
from rate.errors import ConfigError
from rate.options import parse_options
from rate.serial import check_types

StartRule = Literal["first", "random", "auto"]


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The data of a run."""

    path: str = ""
    """Directory of a data set, or minari:<id>; empty: collected from the expert of the environment."""
    episodes: int = 2000
    """Episodes to collect."""
    options: tuple[str, ...] = ()
    """Options of the expert, each as name=value."""
    seed: int = 0
    """Seed of the collected episodes and of the split; the order of the windows follows the seed of the run."""
    start: StartRule = "first"
    """Where a window starts in an episode that is longer: "first" always at step 0, "random" anywhere; "auto" is
    "first" where a window holds the longest episode, and else "random"."""
    validation_fraction: float = 0.1
    """Share of the episodes that is held out."""
    return_scale: float = 1.0
    """Rewards and returns-to-go are divided by this."""
    oracle: str = ""
    """A privileged fact of the episodes that the policy is given, as the environment names it; empty: none."""
    sample: SampleBy = "episode"
    """What counts alike: every episode, or every step, where long episodes come as often as they are long."""
    top: float = 1.0
    """Share of the episodes that is used, those of the highest return."""
    mixture: tuple[str, ...] = ()
    """More data sets, each as PATH or PATH=WEIGHT. A row of a batch is from one of them with a probability in
    proportion to its weight; the weight of the data above is 1."""
    shift: int = 0
    """Move the images of a training window by up to so many pixels, all frames of it alike; 0: never."""

    def __post_init__(self) -> None:
        check_types(self, "data.")
        if self.episodes <= 0:
            raise ConfigError(f"data.episodes must be positive, got {self.episodes}")
        if self.seed < 0:
            raise ConfigError(f"data.seed must not be negative, got {self.seed}")
        if self.start not in get_args(StartRule):
            raise ConfigError(f'data.start must be "first", "random" or "auto", got {self.start!r}')
        if not 0 <= self.validation_fraction < 1:
            raise ConfigError(f"data.validation_fraction must be in [0, 1), got {self.validation_fraction}")
        if not (math.isfinite(self.return_scale) and self.return_scale > 0):
            raise ConfigError(f"data.return_scale must be positive and finite, got {self.return_scale}")
        if self.sample not in get_args(SampleBy):
            raise ConfigError(f"data.sample must be {' or '.join(get_args(SampleBy))}, got {self.sample!r}")
        if not 0 < self.top <= 1:
            raise ConfigError(f"data.top must be above 0 and at most 1, got {self.top}")
        if self.shift < 0:
            raise ConfigError(f"data.shift must not be negative, got {self.shift}")
        parse_mixture(self.mixture)
        parse_options(self.options)
