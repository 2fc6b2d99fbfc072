"""How a policy is trained: sizes, optimiser, schedule, and how often things happen.

Everything is counted in optimiser steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rate.errors import ConfigError

Schedule = Literal["cosine", "linear", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Training."""

    window: int = 30
    """Steps of an episode that one training sequence holds (K x N)."""
    steps: int = 1000
    """Optimiser steps."""
    batch_size: int = 64
    """Windows per optimiser step."""
    objective: str = "behaviour-cloning"
    bptt_segments: int | None = None
    """Segments that gradients cross through memory; None: all of the window, 1: none."""
    recompute: bool = False
    """Run segments again in backward instead of keeping them: less memory, a third more time."""
    learning_rate: float = 3e-4
    warmup_steps: int = 100
    schedule: Schedule = "cosine"
    """Course of the learning rate after the warm-up."""
    final_learning_rate: float = 0.1
    """Where the schedule ends, as a share of the learning rate."""
    weight_decay: float = 0.01
    """On matrices only; biases, norms and single vectors are not decayed."""
    betas: tuple[float, float] = (0.9, 0.999)
    clip: float = 1.0
    """Largest norm of the gradient; 0 switches clipping off."""
    precision: Precision = "auto"
    """auto: bfloat16 autocast on a GPU that has it, float32 elsewhere."""
    device: str = "auto"
    """auto: cuda, else mps, else cpu."""
    log_every: int = 10
    validate_every: int = 100
    patience: int = 0
    """Stop after this many validations in a row without improvement; 0: never."""
    checkpoint_every: int = 250
    evaluate_every: int = 0
    """Evaluate on the first case with validation seeds; 0: never."""
    evaluate_episodes: int = 20

    def __post_init__(self) -> None:
        for field in ("window", "steps", "batch_size", "log_every", "validate_every", "checkpoint_every"):
            if getattr(self, field) < 1:
                raise ConfigError(f"train.{field} is {getattr(self, field)}; it must be at least 1")
        if self.bptt_segments is not None and self.bptt_segments < 1:
            raise ConfigError(f"train.bptt_segments is {self.bptt_segments}; it must be at least 1, or None for all")
        if not self.learning_rate > 0:
            raise ConfigError(f"train.learning_rate is {self.learning_rate}; it must be positive")
        for field in ("warmup_steps", "weight_decay", "clip", "patience", "evaluate_every", "final_learning_rate"):
            if getattr(self, field) < 0:
                raise ConfigError(f"train.{field} is {getattr(self, field)}; it must not be negative")
