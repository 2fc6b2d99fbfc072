"""What a step of an exported policy costs against one of the PyTorch actor, in one run and on one core.

Part of `rate bench`. Both act in turn, whole segments or windows at a time, so that load and borders hit both alike.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rate.bench import models
from rate.bench import rate_and_dt as pair
from rate.bench.measuring import Figures, clock
from rate.export import Asked, export_policy
from rate.models import ModelConfig, RateConfig
from rate.models.actor import Actor
from rate.types import Spaces

STEPS = 30
"""Of one turn, where a policy has no segments."""


def parts(repeats: int) -> Iterator[tuple[str, Callable[[], Figures]]]:
    """The sizes of the paper (with shared keys, as in `acting_rate`, and without), and every model at its recipe's."""
    if find_spec("onnx") is None or find_spec("onnxruntime") is None:
        return
    paper = pair.models()["rate"]
    assert isinstance(paper, RateConfig)
    sizes = {"paper": paper, "paper, plain multi-head": replace(paper, kv_heads=paper.heads)}
    for name, config in sizes.items():
        yield f"rate of the {name}", partial(exported, config, pair.SPACES, repeats)
    for name, run in models.configs().items():
        yield name, partial(exported, run.model, models.spaces_for(run), repeats)


def exported(config: ModelConfig, spaces: Spaces, repeats: int) -> Figures:
    """Milliseconds of a step of one environment, observation in and action out."""
    from rate.export.runner import Policy

    torch.manual_seed(0)
    policy = config.build(spaces).eval()
    actor = Actor(policy, target_return=1.0)
    with tempfile.TemporaryDirectory() as home:
        export_policy(policy, Path(home) / "export", Asked(target_return=1.0))
        runner = Policy(Path(home) / "export")
    oracle = None if spaces.oracle is None else np.ones(spaces.oracle.shape or ())
    actor.reset(oracle=oracle)
    runner.reset(oracle)
    observation, steps = np.zeros(spaces.observation.shape or (), np.float32), policy.segment_len or STEPS

    def act() -> None:
        actor.act(observation)
        actor.observe(0.0)

    acting: list[Callable[[], Any]] = [act, lambda: runner.act(observation, 0.0)]
    turns = [[_seconds(one, steps) for one in acting] for _ in range(2 + repeats)][2:]
    ours, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
    return {"actor_ms": 1e3 * ours, "exported_ms": 1e3 * theirs, "actor_over_exported": ours / theirs}


def _seconds(act: Callable[[], Any], steps: int) -> float:
    began = clock()
    for _ in range(steps):
        act()
    return (clock() - began) / steps
