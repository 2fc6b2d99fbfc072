"""The one recipe: a model and its training follow from the facts of a task, and from nothing else.

`benchmarks/learning` has the study behind it. What a model has no field for, it does not get.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rate.config import EnvConfig, RunConfig
from rate.data.config import DataConfig
from rate.evaluation.evaluator import EvalConfig
from rate.facts import SEGMENTS, Facts
from rate.models import MODELS, ModelConfig
from rate.nn.encoding import EncoderConfig
from rate.nn.valves import VALVES
from rate.objectives import OBJECTIVES
from rate.training.config import TrainConfig

NARROW, WIDE = 64, 128
LONGEST_CONTEXT = 210
"""Steps of a window that slides and is computed anew at each step; windows of longer episodes start anywhere."""
ROWS = 16
"""Memory tokens."""
STEPS, KEEPING = 2000, 6000
"""Optimiser steps: of one length of segments, and where memory must keep, of several lengths one after the other: with
4,000 one seed of five of AAR did not find how to carry over two borders, with 6,000 it did."""
FAST, STEADY = 3e-3, 1e-3
"""Learning rates of these. Where memory must keep, what it has learnt over one border must outlive the steps in which
the next length of segments is learnt, and 3e-3 was too much for that on some seeds."""
SEEN, MOST_WINDOWS = 1536, 64
"""Steps of episodes in a batch, however long a window is, so that an optimiser step costs the same on every task; and
windows, of which more teach a small data set by heart. To find what memory is for takes many steps rather than large
ones: with 3,072 a policy of Minigrid-Memory was at chance after 3,000 steps, with half of that it knew after 250."""
CACHED = SEGMENTS - 1
"""Segments in the cache: with the open one they are an episode of three, or about as long as LONGEST_CONTEXT."""
NOISE = 0.5
"""On memory between segments, as a share of its size, which is learnt: rows had a root mean square of 1.0 on AAR and of
3.2 on Minigrid-Memory. There 0.3 of it does not teach to keep over 151 cells, 0.6 does; AAR wavers at 0.5 and 0.6."""
AVERAGED = 0.1
"""Share of the steps whose weights are averaged. Of single steps some lose what memory holds: a policy of AAR went from
a recall of 1.99 to 1.01 in its last hundred steps, and the mean of its weights has 2.00 from step 3,500 on."""
QUIET, RAMP = 3 / 4, 0.15
"""Shares of the training without noise on memory, as what it holds at first is smaller than the noise, and then with
noise that grows. At its full size with the first segments of the shortest length it undid all that was learnt: a policy
of AAR went from a recall of 2.00 to 1.00, in whole windows too, which noise does not touch."""


def standard(env: str, model: str, facts: Facts, data: DataConfig, judged: EvalConfig, name: str) -> RunConfig:
    """One model on one task, under the name of a recipe."""
    chosen = standard_model(model, facts)
    objective = "cql" if getattr(chosen, "head", "") == "value" else "behaviour-cloning"
    return RunConfig(
        recipe=name,
        env=EnvConfig(name=env),
        model=chosen,
        objective=OBJECTIVES.get(objective)(name=objective),
        data=replace(data, start="auto"),
        train=standard_training(chosen, facts),
        eval=judged,
    )


def standard_model(name: str, facts: Facts) -> ModelConfig:
    """The same tokens, width and depth for all models; what is left is how they remember."""
    preset = MODELS.get(name)(facts.window)
    window = _window(preset, facts)
    width = NARROW if facts.numbers <= NARROW else WIDE
    wanted: dict[str, Any] = {
        "width": width,
        "return_to_go": facts.returns_vary,
        "previous_action": True,
        # A clock says the wrong thing beyond the length of the data.
        "timesteps": 0 if facts.open_ended else facts.steps,
        "layers": 2,
        "heads": 4,
        "head_width": width // 4,
        "feed_forward": 4 * width,
        "encoder": EncoderConfig(scale="data"),
        "hidden": 2 * width,
        "forget_bias": 3.0,
        **_memory(preset, facts),
    }
    return MODELS.get(name)(window, **{field: wanted[field] for field in wanted if hasattr(preset, field)})


def _window(model: ModelConfig, facts: Facts) -> int:
    """The whole episode, or as much of it as a context that slides can take."""
    return min(facts.window, LONGEST_CONTEXT) if hasattr(model, "context") else facts.window


def _memory(preset: ModelConfig, facts: Facts) -> dict[str, Any]:
    """What is carried between segments, where a model has memory tokens."""
    if not getattr(preset, "memory_tokens", 0):
        return {}
    valve = getattr(preset, "valve", "")
    aligned = {"valve_bias": 4.0, "valve_start": "aligned"} if VALVES.get(valve).attends else {}
    if facts.open_ended:
        # Acting with the shortest segments but one: over the shortest, which teach to keep, memory is carried so often
        # that single weights lose it, and their mean with them.
        when = {"memory_noise_from": QUIET, "memory_noise_ramp": RAMP}
        noise = {"memory_noise": NOISE, "memory_noise_unit": "memory", **when}
        return {"segment_len": max(1, facts.segment // 2), "memory_tokens": ROWS, **aligned, **noise}
    # Where memory must keep for longer there is no cache: one of all that a window has seen leaves memory nothing to do
    # in training, and it would not learn to keep. A memory without a valve (RMT) has no cache either.
    tokens = (2 + facts.returns_vary) * facts.segment + 2 * ROWS
    cache = {"cache_tokens": CACHED * tokens} if valve != "none" else {}
    return {"segment_len": facts.segment, "memory_tokens": ROWS, **cache, **aligned}


def standard_training(model: ModelConfig, facts: Facts) -> TrainConfig:
    """The same for all models, but that memory that must keep for long is cut into long segments first, then into
    shorter ones too: long ones teach the task, shorter ones to carry it over one border and two, the shortest to keep.
    """
    window = _window(model, facts)
    lengths = _stages(facts, window) if facts.open_ended and window > 1 else ()
    return TrainConfig(
        window=window,
        steps=KEEPING if facts.open_ended else STEPS,
        batch_size=min(MOST_WINDOWS, max(1, round(SEEN / window))),
        learning_rate=STEADY if facts.open_ended else FAST,
        betas=(0.9, 0.95),
        average=AVERAGED,
        segment_lens=lengths if getattr(model, "memory_tokens", 0) else (),
        turns="newest",
        borders="drawn" if facts.open_ended else "even",
    )


def _stages(facts: Facts, window: int) -> tuple[int, ...]:
    """Lengths of segments, each for the same share of the steps. Those that a policy acts with have two shares, so that
    they are learnt before noise begins; at most a third of them comes last, as memory that outlives eighteen updates of
    a window under noise outlives those of a longer episode. A single step is no segment to learn from."""
    acting = facts.segment // 2
    shorter = (length for length in range(2, acting // 3 + 1) if window % length == 0)
    return window, window // 2, facts.segment, acting, acting, max(shorter, default=acting)


def half(batch_size: int) -> int:
    """Windows of a batch where many small trainings are compared."""
    return max(4, batch_size // 2)
