"""Rank and room of memory with fresh weights, by valve: what an update leaves of the rows before anything is learnt.

python benchmarks/learning/fresh.py
"""

from __future__ import annotations

from typing import Any

import torch

import rate
from rate.config import edit
from rate.evaluation.room import rank, room
from rate.experiment.data import cut_windows, prepare_data
from rate.types import to_tensor

EPISODES = 192
BIAS: dict[str, Any] = {"model.valve_bias": 4.0}
ALIGNED: dict[str, Any] = {**BIAS, "model.valve_start": "aligned"}
VALVES: dict[str, dict[str, Any]] = {
    "ca2": {},
    "ca2, bias 4": BIAS,
    "ca2, bias 4, aligned": ALIGNED,
    "ca2, bias 4, aligned, identity": {**ALIGNED, "model.valve_activation": "identity"},
    **{name: {"model.valve": name} for name in ("none", "gate", "gru", "lstm")},
}


def main() -> None:
    torch.set_num_threads(1)
    clock = {"model.return_to_go": False, "model.timesteps": 105, "model.clock": "sinusoidal"}
    base = rate.recipe("popgym/Autoencode-Easy/rate", clock)
    store = prepare_data(base.env.name, base.data)
    window = to_tensor(cut_windows(base, store)[0].batch(0, EPISODES))
    for name, changes in VALVES.items():
        torch.manual_seed(0)
        policy: Any = edit(base, changes).model.build(store.spaces).eval()
        state, found = policy.initial_state(EPISODES), []
        with torch.no_grad():
            for segment in list(window.split(policy.segment_len))[:2]:
                _, state = policy(segment, state)
                found.append((float(rank(state.memory).mean()), float(room(state.memory))))
        print(f"{name}: " + "; ".join(f"rank {rows:.1f}, room {ways:.1f}" for rows, ways in found), flush=True)


if __name__ == "__main__":
    main()
