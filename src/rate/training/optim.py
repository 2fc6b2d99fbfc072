"""Optimiser and learning-rate schedule.

The schedule is a pure function of the optimiser step, so resuming needs no scheduler state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from rate.training.config import TrainConfig


def learning_rate(config: TrainConfig, step: int) -> float:
    """Linear warm-up over the first steps, then the schedule down to its end at the last step, then flat."""
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    share = min(1.0, (step - config.warmup_steps) / max(1, config.steps - config.warmup_steps))
    left = {"cosine": 0.5 * (1 + math.cos(math.pi * share)), "linear": 1 - share, "constant": 1.0}[config.schedule]
    return config.learning_rate * (config.final_learning_rate + (1 - config.final_learning_rate) * left)


def build_optimizer(config: TrainConfig, modules: Iterable[nn.Module]) -> torch.optim.AdamW:
    """AdamW that decays matrices and leaves alone biases, norms, single rows and what is marked `no_decay`."""
    parameters = [parameter for module in modules for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if _decays(p)], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if not _decays(p)], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas)


def _decays(parameter: Tensor) -> bool:
    return parameter.dim() >= 2 and not getattr(parameter, "no_decay", False)
