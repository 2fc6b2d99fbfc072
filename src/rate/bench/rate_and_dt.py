"""RATE and the Decision Transformer at equal sizes: acting, and training in a process of its own."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from rate.bench.measuring import Figures, bytes_of, clock, cloning_step, fastest, peak_mib, window_of
from rate.models import MODELS, ModelConfig, SequencePolicy
from rate.models.policies.context import ContextPolicy
from rate.models.policies.segment import SegmentPolicy
from rate.types import Inputs, Spaces, tree_map

SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (4,)), action=gym.spaces.Discrete(4))
SIZES: dict[str, Any] = {"layers": 8, "width": 64, "heads": 8, "head_width": 32, "dropout": 0.1}
SEGMENT, SEGMENTS, BATCH = 50, 3, 64
"""The size of the paper's T-Maze runs: K = 50, N = 3, batch 64."""


def sizes() -> Figures:
    return {**SIZES, "segment_len": SEGMENT, "segments": SEGMENTS, "train_batch": BATCH}


def models() -> dict[str, ModelConfig]:
    """The two that are compared, at equal width, depth and effective context."""
    rate = MODELS.get("rate")(SEGMENT * SEGMENTS, memory_tokens=10, valve_heads=2, **SIZES)
    return {"rate": rate, "dt": MODELS.get("dt")(SEGMENT * SEGMENTS, **SIZES)}


def inputs(batch: int, first: bool = False) -> Inputs:
    return window_of(SPACES, batch, 2).at(0 if first else 1)


def warm_state(policy: SequencePolicy[Any], batch: int) -> Any:
    """The state after the first segment; of a window model, with its window full."""
    state = policy.initial_state(batch)
    if isinstance(policy, ContextPolicy):
        return replace(state, filled=state.tokens.shape[1])
    for index in range(SEGMENT):
        _, state = policy.step(inputs(batch, first=index == 0), state)
    return state


def step_times(policy: SequencePolicy[Any], batch: int, steps: int) -> list[float]:
    """Seconds of single acting steps."""
    with torch.inference_mode():
        state, x, times = warm_state(policy, batch), inputs(batch), []
        for _ in range(steps):
            began = clock()
            _, state = policy.step(x, state)
            times.append(clock() - began)
    return times


def recompute_times(policy: SegmentPolicy, batch: int, positions: list[int]) -> list[float]:
    """The same policy acting by running its open segment anew at each step, as `forward` does."""
    times = []
    with torch.inference_mode():
        state = policy.initial_state(batch)
        for position in positions:
            segment = window_of(SPACES, batch, position + 1)
            began = clock()
            policy(segment, state)
            times.append(clock() - began)
    return times


def state_bytes(policy: SequencePolicy[Any], steps: int) -> int:
    """Bytes of state of one environment."""
    with torch.inference_mode():
        state = policy.initial_state(1)
        for index in range(steps):
            _, state = policy.step(inputs(1, first=index == 0), state)
    return bytes_of(state)


def acting(config: ModelConfig, repeats: int) -> Figures:
    """Time per step at batch 1 and 100, incremental against recomputed, averaged over the places of a segment."""
    policy = seeded(config)
    figures: Figures = {"state_bytes_per_env": state_bytes(policy, 2 * SEGMENT), "parameters": policy.parameter_count()}
    for batch in (1, 100):
        own = statistics.fmean(step_times(policy, batch, _steps(policy, batch, repeats)))
        figures[f"ms_per_step_batch_{batch}"] = 1e3 * own
        if isinstance(policy, SegmentPolicy):
            places = list(range(0, SEGMENT, 5 if batch == 100 else 1))
            anew = statistics.fmean(recompute_times(policy, batch, places))
            figures[f"recompute_ms_per_step_batch_{batch}"] = 1e3 * anew
            figures[f"recompute_over_step_batch_{batch}"] = anew / own
    figures["batch_100_over_batch_1"] = figures["ms_per_step_batch_100"] / figures["ms_per_step_batch_1"]
    return figures


def _steps(policy: SequencePolicy[Any], batch: int, repeats: int) -> int:
    """Whole segments, so that every place of a segment counts once; a window costs the same at every step."""
    if isinstance(policy, ContextPolicy):
        return 2 if batch > 1 else 10
    return SEGMENT if batch > 1 else SEGMENT * repeats


def flatness(config: ModelConfig, states: Mapping[int, Any], repeats: int) -> Figures:
    """Time per step at several places of one episode. Rounds of the places alternate, so that load hits all alike."""
    policy = seeded(config)
    running = {place: tree_map(torch.clone, state) for place, state in states.items()}
    rounds: dict[int, list[float]] = {place: [] for place in states}
    x = inputs(1)
    with torch.inference_mode():
        for _ in range(repeats):
            for place in rounds:
                began = clock()
                for _ in range(SEGMENT):
                    _, running[place] = policy.step(x, running[place])
                rounds[place].append((clock() - began) / SEGMENT)
    medians = {place: statistics.median(times) for place, times in rounds.items()}
    first = medians[min(medians)]
    return {
        "ms_per_step": {str(place): 1e3 * value for place, value in medians.items()},
        "over_first": {str(place): value / first for place, value in medians.items()},
    }


def episode_states(config: ModelConfig, places: tuple[int, ...]) -> dict[int, Any]:
    """The states at several places of one episode."""
    policy, states = seeded(config), {}
    with torch.inference_mode():
        state = policy.initial_state(1)
        for index in range(max(places)):
            _, state = policy.step(inputs(1, first=index == 0), state)
            if index + 1 in places:
                states[index + 1] = tree_map(torch.clone, state)
    return states


def seeded(config: ModelConfig) -> SequencePolicy[Any]:
    torch.manual_seed(0)
    return config.build(SPACES).eval()


def training_step(config: ModelConfig, recompute: bool, batch: int = BATCH) -> Callable[[], None]:
    """One optimiser step: forward, backward through memory, AdamW."""
    torch.manual_seed(0)
    step = cloning_step(config.build(SPACES), recompute)
    return partial(step, window_of(SPACES, batch, SEGMENT * SEGMENTS))


def measure_training(name: str, repeats: int, recompute: bool) -> Figures:
    """Seconds per optimiser step and peak memory, measured in a process of its own."""
    step = training_step(models()[name], recompute)
    seconds = fastest(step, repeats)
    return {"seconds_per_step": seconds, "steps_per_second": 1 / seconds, "peak_mib": peak_mib()}


def training_in_child(name: str, threads: int, repeats: int, recompute: bool = False) -> Figures:
    import json

    command = [sys.executable, "-m", "rate.bench.rate_and_dt", name, str(threads), str(repeats), str(int(recompute))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def environment_steps(batch: int = 1000, steps: int = 2000) -> float:
    """T-Maze environment steps per second."""
    from rate.envs import ENVS

    env = ENVS.get("tmaze").make_batch(length=steps + 2)
    env.reset(np.arange(batch, dtype=np.int64))
    action = np.zeros(batch, np.int64)
    began = clock()
    for _ in range(steps):
        env.step(action)
    return batch * steps / (clock() - began)


if __name__ == "__main__":
    import json

    torch.set_num_threads(int(sys.argv[2]))
    print(json.dumps(measure_training(sys.argv[1], int(sys.argv[3]), sys.argv[4] == "1")))
