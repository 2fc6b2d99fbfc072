"""Short trainings on T-Maze: are the memories of both clues still apart after many more updates than were trained?

python benchmarks/learning/retain.py ca2,aligned,aligned-segments 1,2,3 >> benchmarks/learning/retain.jsonl
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from torch import nn

import rate
from rate.config import RunConfig, edit
from rate.envs.tmaze_env import TMazeBatch
from rate.experiment.data import cut_windows, prepare_data
from rate.models import unroll
from rate.models.policies.segment import SegmentPolicy
from rate.training.optim import build_optimizer, learning_rate
from rate.types import Inputs, to_tensor

ALIGNED: dict[str, Any] = {"model.valve_bias": 4.0, "model.valve_start": "aligned"}
VARIANTS: dict[str, dict[str, Any]] = {
    "ca2": {},
    "none": {"model.valve": "none"},
    "lstm": {"model.valve": "lstm"},
    "aligned": ALIGNED,
    "aligned-segments": {**ALIGNED, "train.segment_lens": (30, 10, 5)},
    "aligned-more-segments": {**ALIGNED, "train.segment_lens": (30, 10, 5, 3)},
}
BUDGET = {"train.steps": 300, "train.batch_size": 32, "train.learning_rate": 3e-3, "train.warmup_steps": 50}
EPISODES, UPDATES = 20, (1, 2, 5, 10, 29)


def fit(config: RunConfig) -> tuple[SegmentPolicy, float]:
    """The library's training, without anything around it."""
    store, train = prepare_data(config.env.name, config.data), config.train
    windows, _ = cut_windows(config, store)
    torch.manual_seed(config.seed)
    policy: Any = config.model.build(store.spaces).train()
    optimizer, own = build_optimizer(train, (policy,)), policy.segment_len
    for step in range(train.steps):
        policy.resegment(train.segment_len_at(step) or own)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(train, step)
        window = to_tensor(windows.batch(step, train.batch_size))
        losses = policy.head.loss(unroll(policy, window).prediction, window.action)
        loss = (losses * window.mask).sum() / window.mask.sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), train.clip)
        optimizer.step()
    policy.resegment(own)
    return policy.eval(), float(loss.detach())


@torch.no_grad()
def apart(policy: SegmentPolicy) -> dict[int, float]:
    """Update -> distance of the mean memories of both clues, relative to the norm of a memory."""
    env, seeds, found = TMazeBatch(length=900), np.arange(EPISODES), {}
    observation, state, action = env.reset(seeds), policy.initial_state(EPISODES), None
    up = seeds % 2 == 0
    for step in range(UPDATES[-1] * policy.slots.steps + 1):
        x = Inputs(
            observation=torch.as_tensor(observation),
            previous_action=action,
            return_to_go=torch.ones(EPISODES),
            timestep=step,
        )
        _, state = policy.step(x, state)
        number, open_steps = divmod(step, policy.slots.steps)
        if open_steps == 0 and number in UPDATES:
            between = (state.memory[up].mean(0) - state.memory[~up].mean(0)).norm()
            found[number] = round(float(between / state.memory.flatten(1).norm(dim=1).mean()), 3)
        action = torch.zeros(EPISODES, dtype=torch.long)
        observation = env.step(action.numpy()).observation
    return found


def main() -> None:
    torch.set_num_threads(1)
    for seed in map(int, sys.argv[2].split(",")):
        for name in sys.argv[1].split(","):
            began = time.process_time()
            policy, loss = fit(edit(rate.recipe("tmaze/rate", {**BUDGET, "seed": seed}), VARIANTS[name]))
            line = {"variant": name, "seed": seed, "loss": round(loss, 5), "apart": apart(policy)}
            print(json.dumps({**line, "cpu_seconds": round(time.process_time() - began)}), flush=True)


if __name__ == "__main__":
    main()
