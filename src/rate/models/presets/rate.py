"""RATE, the Recurrent Action Transformer with Memory, and its relatives as presets of one configuration.

RMT has no valve and no cache, TrXL has a cache and no memory, GTrXL is TrXL with gates in its layers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rate.errors import ConfigError
from rate.models.config import MODELS, check_choice, check_sizes, part_of
from rate.models.decoder import DecoderConfig
from rate.nn.kinds import NoiseUnit, ValveStart
from rate.nn.valves import VALVES, ValveConfig
from rate.registry import CONFIG_CLASSES
from rate.types import Spaces

if TYPE_CHECKING:
    from rate.models.policies.segment import SegmentPolicy


@CONFIG_CLASSES.register("RateConfig")
@dataclass(frozen=True, kw_only=True)
class RateConfig(DecoderConfig):
    """RATE and its relatives."""

    name: str = "rate"
    segment_len: int = 10
    """K: steps per segment."""
    memory_tokens: int = 5
    """m: memory embeddings before and after each segment."""
    cache_tokens: int = 0
    """Cached hidden states of earlier segments, in tokens (a segment has 3K + 2m of them)."""
    valve: str = "ca2"
    """The Memory Retention Valve, by name: `rate list valves` shows all."""
    valve_heads: int = 1
    """Attention heads of the valve (ca1, ca2)."""
    valve_activation: str = "relu"
    """Applied to the written memory before the valve reads it (ca1, ca2)."""
    valve_feed_forward: int = 0
    """Inner width of the feed-forward network behind the valve's attention (ca1, ca2); 0 leaves it out."""
    valve_bias: float = 0.0
    """Start of a learned bias per pair of rows in the valve's scores (ca1, ca2; others have none), on the diagonal: a
    row first asks its own successor, and rows stay apart. 0: none, as in the paper: the first updates average rows.
    """
    valve_start: ValveStart = "random"
    """How the valve's value path starts (ca1, ca2): `random` as torch has it, or `aligned`, with W_V W_M = 1."""
    memory_noise: float = 0.0
    """Standard deviation of the Gaussian noise added to memory between segments, in training only."""
    memory_noise_from: float = 0.0
    """Share of the training after which that noise begins: while memory holds little yet, noise hides all of it."""
    memory_noise_ramp: float = 0.0
    """Share of the training over which it grows from nothing: all of it at once can undo what was learnt."""
    memory_noise_unit: NoiseUnit = "one"
    """What its size is told in: `one`, or `memory`, the root mean square of an episode's memory, which can be learnt to
    be anything."""
    gated: bool = False
    """Gates in place of the decoder's residual sums (GTrXL)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, "segment_len", "valve_heads")
        check_choice(self, "valve_start", ValveStart)
        check_choice(self, "memory_noise_unit", NoiseUnit)
        for field in ("memory_tokens", "cache_tokens", "valve_feed_forward", "valve_bias", "memory_noise"):
            if not 0 <= getattr(self, field) < math.inf:
                raise ConfigError(f"model.{field} is {getattr(self, field)}; it must be finite and not negative")
        for field in ("memory_noise_from", "memory_noise_ramp"):
            if not 0 <= getattr(self, field) <= 1:
                raise ConfigError(f"model.{field} is {getattr(self, field)}; it must lie between 0 and 1")
        from rate.nn.memory import ACTIVATIONS

        ACTIVATIONS.get(self.valve_activation)
        self._check_shapes()

    def _check_shapes(self) -> None:
        valve = VALVES.get(self.valve)
        if self.valve != "none" and not self.memory_tokens:
            raise ConfigError(f"model.valve = {self.valve} needs memory; set model.memory_tokens or model.valve none")
        if valve.attends and self.width % self.valve_heads:
            raise ConfigError(f"model.width = {self.width} is not a multiple of model.valve_heads = {self.valve_heads}")
        if self.valve_feed_forward and not valve.attends:
            raise ConfigError(f"model.valve = {self.valve} has no FFN; leave model.valve_feed_forward 0")
        if not self.memory_tokens and not self.cache_tokens:
            raise ConfigError("nothing is carried between segments; set model.memory_tokens or model.cache_tokens")

    def check_window(self, window: int) -> None:
        if window % self.segment_len:
            raise ConfigError(
                f"model.segment_len = {self.segment_len} does not divide train.window = {window}; "
                f"choose a window of {self.segment_len * max(1, window // self.segment_len)} steps, "
                f"or segments of {divisor_below(window, self.segment_len)}"
            )

    def build(self, spaces: Spaces) -> SegmentPolicy:
        from rate.models.policies.segment import SegmentPolicy, Slots
        from rate.nn.noise import MemoryNoise

        valve = part_of(self, ValveConfig, "valve_", width=self.width, rows=self.memory_tokens)
        tokens, transformer = self.tokens(), self.transformer()
        slots = Slots(
            cache=self.cache_tokens, memory=self.memory_tokens, steps=self.segment_len, per_step=tokens.per_step
        )
        noise = MemoryNoise(
            size=self.memory_noise,
            start=self.memory_noise_from,
            ramp=self.memory_noise_ramp,
            unit=self.memory_noise_unit,
        )
        return SegmentPolicy(spaces, slots, tokens, transformer, VALVES.get(self.valve)(valve), noise)


def divisor_below(window: int, wanted: int) -> int:
    """The largest divisor of `window` that is at most `wanted`, and at most a million."""
    return next(size for size in range(min(window, wanted, 10**6), 0, -1) if window % size == 0)


def suggest_config(horizon: int, dense_reward: bool) -> RateConfig:
    """The paper's recommendations for a new task: N = 3, K = T // 3, m = 5, one valve head, ReLU, cache rule.

    Train it on windows of 3 x segment_len steps, the multiple of 3 at or below the horizon.
    """
    if not isinstance(horizon, int) or horizon < 3:
        raise ConfigError(f"a horizon of {horizon} steps cannot be cut into 3 segments; it must be at least 3")
    segment_len, memory_tokens, segments = horizon // 3, 5, 3
    cache = (3 * segment_len + 2 * memory_tokens) * segments if dense_reward else 0
    return RateConfig(
        segment_len=segment_len,
        memory_tokens=memory_tokens,
        valve_heads=1,
        valve_activation="relu",
        cache_tokens=cache,
    )


SEGMENTS = 3
"""N of the presets, the paper's recommendation."""


def segment_of(window: int) -> int:
    """K = window / 3, or the next smaller divisor of the window."""
    return divisor_below(window, max(1, window // SEGMENTS))


@MODELS.register("rate")
def rate_preset(window: int, **fields: Any) -> RateConfig:
    """Recurrent Action Transformer with Memory: segments, memory tokens and a valve between segments."""
    return RateConfig(**{"segment_len": segment_of(window), **fields})


@MODELS.register("rmt")
def rmt_preset(window: int, **fields: Any) -> RateConfig:
    """Recurrent Memory Transformer: memory without a valve, the standard decoder with feed-forward blocks."""
    base = {"segment_len": segment_of(window), "valve": "none", "feed_forward": 64}
    return RateConfig(**{"name": "rmt", **base, **fields})


def cache_only(window: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """No memory, and a cache that is full in the last segment of a window: with it the context is the window."""
    segment = fields.get("segment_len", segment_of(window))
    per_step = 1 + sum(bool(fields.get(token, True)) for token in ("return_to_go", "previous_action"))
    cached = per_step * (window - segment if window > segment else window)
    base = {"segment_len": segment, "valve": "none", "feed_forward": 64, "memory_tokens": 0, "cache_tokens": cached}
    return {**base, **fields}


@MODELS.register("trxl")
def trxl_preset(window: int, **fields: Any) -> RateConfig:
    """Transformer-XL: cached hidden states of the segments before, as far as the window goes, and no memory."""
    return RateConfig(**{"name": "trxl", **cache_only(window, fields)})


@MODELS.register("gtrxl")
def gtrxl_preset(window: int, **fields: Any) -> RateConfig:
    """Gated Transformer-XL: gates in place of the residual sums."""
    return RateConfig(**{"name": "gtrxl", "gated": True, **cache_only(window, fields)})
