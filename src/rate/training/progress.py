"""Progress: how far a training is, as its checkpoints keep it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rate.system.files import reading
from rate.training.checkpoint import Checkpoint
from rate.training.config import TrainConfig


@dataclass
class Progress:
    """What training remembers besides weights."""

    step: int = 0
    best_loss: float = math.inf
    best_return: float = -math.inf
    misses: int = 0
    """Validations in a row without improvement, in the last stage alone."""
    seconds: float = 0.0
    """Wall-clock time of training up to here, over all resumes; nan where an older checkpoint does not say."""

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Progress:
        kept = checkpoint.progress
        with reading(f"the progress of step {checkpoint.step}"):
            return cls(
                step=checkpoint.step,
                best_loss=float(kept["best_loss"]),
                best_return=float(kept.get("best_return", "-inf")),
                misses=int(kept["misses"]),
                seconds=float(kept.get("seconds", "nan")),
            )

    def to_json(self) -> dict[str, Any]:
        """All but the step, which a checkpoint has itself."""
        return {
            "best_loss": repr(self.best_loss),
            "best_return": repr(self.best_return),
            "misses": self.misses,
            "seconds": repr(self.seconds),
        }

    def is_over(self, config: TrainConfig) -> bool:
        """Whether the last step is reached, or the end of patience."""
        return self.step >= config.steps or 0 < config.patience <= self.misses

    def has_less_loss(self, loss: float, config: TrainConfig) -> bool:
        """Note a validation: whether its loss is the lowest so far. Stages that others follow have time."""
        better = loss < self.best_loss
        self.misses = 0 if better or not config.is_last_stage(self.step - 1) else self.misses + 1
        self.best_loss = min(loss, self.best_loss)
        return better

    def has_more_return(self, judged: Mapping[str, float]) -> bool:
        """Note an evaluation: whether its mean return over the cases is the highest so far."""
        returns = [value for name, value in judged.items() if name.endswith("/return_mean")]
        mean = sum(returns) / len(returns) if returns else -math.inf
        better = mean > self.best_return
        self.best_return = max(mean, self.best_return)
        return better
