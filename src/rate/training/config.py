"""How a policy is trained: sizes, optimiser, schedule, and how often things happen.

Everything is counted in optimiser steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rate.errors import ConfigError
from rate.serial import Stored, check_types
from rate.training.loggers import LOGGERS

LEAST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
EVALUATIONS = 10
"""How often a training evaluates itself at most, where that is left open."""
Schedule = Literal["cosine", "linear", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]
Turns = Literal["even", "newest"]
Borders = Literal["even", "drawn"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Training."""

    window: int = 30
    """Steps of an episode that one training sequence holds (K x N)."""
    steps: int = 1000
    """Optimiser steps."""
    batch_size: int = 64
    """Windows per optimiser step."""
    bptt_segments: int | None = None
    """Segments that gradients cross through memory; None: all of the window, 1: none. Between 1 and all, the borders
    that they do not cross are drawn anew at each step."""
    action_noise: float = 0.0
    """Share of the past actions that are shown wrong in training (the targets stay): actions of other steps in their
    place. An expert's past actions give away what it knows; a policy's own do not."""
    recompute: bool = False
    """Run segments again in backward instead of keeping them: less memory, a third more time."""
    segment_lens: tuple[int, ...] = ()
    """Lengths of segments to train with: the first alone, then the first two in turn, then three, each time for the
    same share of the steps. One is the model's own. Long ones teach the task, short ones memory. None: its own."""
    turns: Turns = "even"
    """Which of them take turns how often: all alike, or the newest at every other step. It is the one that is not yet
    learnt, and where the next one comes before it is, memory may not be found at all."""
    borders: Borders = "even"
    """`drawn`: in training the first segment of a window is of any length up to that of the others, drawn at each step,
    and all borders move with it: what is seen, kept and asked for meets them in places that a longer episode may show.
    """
    cache_tokens: tuple[int, ...] = ()
    """Lengths of the cache to train with, one after the other, each for the same share of the steps. The last is the
    model's own. A long cache teaches the task, and memory takes over what a shorter one no longer holds. None: its own.
    """
    windows: tuple[int, ...] = ()
    """Lengths of windows to train with, one after the other, each for the same share of the steps; the last is
    `window`, and all divide it. A batch has as many more of the short ones, so that a step costs the same: steps of
    many episodes teach to see and to act sooner than many steps of a few. None: `window` alone."""
    thinned: bool = False
    """Short ones are the first step of a whole window and others drawn from it, in order, not its first steps: what
    was seen long ago is asked for from the first batch on, and by nothing that the steps just before give away."""
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
    average: float = 0.0
    """Share of the steps over which a running mean of the weights is taken, which is validated, kept and acts in place
    of the last ones; 0: the last ones."""
    precision: Precision = "auto"
    """auto: bfloat16 autocast on a GPU that has it, float32 elsewhere."""
    compile: bool = False
    """Let torch.compile make kernels for the policy: the same results but for rounding, after a minute or more. A CPU
    needs a C++ compiler for it."""
    device: str = "auto"
    """auto: cuda, else mps, else cpu."""
    log_every: int = 10
    validate_every: int = 100
    patience: int = 0
    """Stop after this many validations in a row without improvement; 0: never."""
    checkpoint_every: int = 250
    evaluate_every: int | None = 0
    """Evaluate with validation seeds; 0: never; None: up to ten times, in at most a twentieth of the time."""
    evaluate_cases: tuple[str, ...] = ()
    """On these cases, written as in eval.cases; none: on the first of those."""
    evaluate_episodes: int = 20
    start_from: str = ""
    """A run, or a checkpoint directory, whose weights training begins with; empty: fresh ones."""
    loggers: tuple[str, ...] = ()
    """Where metrics also go, as `rate list loggers` shows them; one that only a file names (Stored) is not used."""

    def __post_init__(self) -> None:
        check_types(self, "train.")
        self._check_counts()
        self._check_optimizer()
        for name in self.loggers:
            if not isinstance(name, Stored):
                LOGGERS.check(name)

    def evaluates_at(self, step: int) -> bool:
        """Whether an evaluation is due after a step."""
        if self.evaluate_every is None:
            return step % max(1, self.steps // EVALUATIONS) == 0 or step == self.steps
        return bool(self.evaluate_every) and step % self.evaluate_every == 0

    def segment_len_at(self, step: int) -> int | None:
        """The length of the segments at a step; None: the model's own."""
        known = self.segment_lens[: self._stage(step, self.segment_lens)]
        if self.turns == "newest" and len(known) > 1:
            return known[-1] if step % 2 else known[step // 2 % (len(known) - 1)]
        return known[step % len(known)] if known else None

    def cache_tokens_at(self, step: int) -> int | None:
        """The length of the cache at a step; None: the model's own."""
        stage = self._stage(step, self.cache_tokens)
        return self.cache_tokens[stage - 1] if stage else None

    def window_at(self, step: int) -> int:
        """The length of the windows at a step."""
        stage = self._stage(step, self.windows)
        return self.windows[stage - 1] if stage else self.window

    def batch_size_at(self, step: int) -> int:
        """Windows of a step: the shorter, the more."""
        return self.batch_size * self.window // self.window_at(step)

    def is_last_stage(self, step: int) -> bool:
        """Whether all lengths of segments are in use, and the last length of the cache and of the windows."""
        staged = (self.segment_lens, self.cache_tokens, self.windows)
        return all(self._stage(step, lengths) == len(lengths) for lengths in staged)

    def _stage(self, step: int, lengths: tuple[int, ...]) -> int:
        """How many of the lengths were reached at a step; each has the same share of the steps."""
        return min(len(lengths), 1 + step * len(lengths) // self.steps)

    def _check_counts(self) -> None:
        counts = ("window", "steps", "batch_size", "log_every", "validate_every", "checkpoint_every")
        for field in (*counts, "evaluate_episodes"):
            if getattr(self, field) < 1:
                raise self._error(field, "be at least 1")
        for field in ("warmup_steps", "patience", "evaluate_every"):
            if (getattr(self, field) or 0) < 0:
                raise self._error(field, "not be negative")
        if any(length < 1 for length in self.segment_lens):
            raise self._error("segment_lens", "hold lengths of at least 1")
        if any(length < 0 for length in self.cache_tokens):
            raise self._error("cache_tokens", "hold lengths of at least 0")
        if any(length < 1 or self.window % length for length in self.windows):
            raise self._error("windows", f"hold lengths that divide train.window = {self.window}")
        if self.windows and self.windows[-1] != self.window:
            raise self._error("windows", f"end with train.window = {self.window}")
        if self.thinned and not self.windows:
            raise ConfigError("train.thinned goes with train.windows, shorter windows than a whole one")
        if self.bptt_segments is not None and self.bptt_segments < 1:
            raise self._error("bptt_segments", "be at least 1, or None for all")

    def _check_optimizer(self) -> None:
        """Comparisons are written so that nan fails them."""
        for field in ("weight_decay", "clip", "final_learning_rate"):
            if not 0 <= getattr(self, field) < math.inf:
                raise self._error(field, "be finite and not negative")
        for field in ("action_noise", "average"):
            if not 0 <= getattr(self, field) <= 1:
                raise self._error(field, "lie between 0 and 1")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise self._error("betas", "be two numbers of at least 0 and below 1")
        largest = LARGEST * (1 - self.betas[0])  # the first step is divided by it
        if not LEAST <= self.learning_rate <= largest:
            raise self._error("learning_rate", "be positive and finite, and float32 must be able to hold it")

    def _error(self, field: str, rule: str) -> ConfigError:
        return ConfigError(f"train.{field} is {getattr(self, field)}; it must {rule}")
