"""Whether a trained policy uses a colour that it saw long ago: its loss on steps 45 to 89, when the pillar is gone.

The first 45 steps of a held-out episode are exchanged for those of another one, of the same colour or of the other.
Where both lose as much, the colour is not used. What a model is told (oracle) is exchanged with them.

python benchmarks/vizdoom-two-colors/remembered.py RUN [RUN ...] --out benchmarks/vizdoom-two-colors/remembered.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import rate
from rate.data.store import TrajectoryStore
from rate.data.windows import Windows, split_episodes
from rate.models.policy import unroll
from rate.types import Segment

SHOWN = 45
"""Steps for which the pillar is shown."""
EPISODES, BATCH = 200, 50


def exchanged(window: Segment, others: Tensor, told: Tensor | None) -> Segment:
    """Its late steps behind the early ones of `others`, rows of the same window."""
    early = {
        name: torch.cat([getattr(window, name)[others, :SHOWN], getattr(window, name)[:, SHOWN:]], 1)
        for name in ("observation", "action", "reward")
    }
    return replace(window, **early, oracle=None if told is None else told[others])


@torch.no_grad()
def late_loss(policy: Any, window: Segment) -> Tensor:
    """Loss of actions at each late step."""
    logits = unroll(policy, window).prediction[:, SHOWN:]
    return F.cross_entropy(logits.flatten(0, 1), window.action[:, SHOWN:].flatten(), reduction="none")


def another(green: Tensor, same: bool) -> Tensor:
    """For each row the next one, in turn, whose colour is the same, or is not."""
    rows = torch.arange(len(green))
    wanted = (green[:, None] == green[None, :]) == same
    distance = (rows[None, :] - rows[:, None]) % len(green)
    return torch.where(wanted & (distance > 0), distance, len(green)).argmin(1)


def held_out(run: Any, data: Path) -> Iterator[Segment]:
    store = TrajectoryStore.open(data)
    config = run.config
    _, ids = split_episodes(len(store), config.data.validation_fraction, config.seed)
    windows = Windows(store, ids[:EPISODES], length=config.train.window, oracle="green")
    yield from windows.fixed(BATCH)


def judged(path: Path, data: Path) -> dict[str, Any]:
    """Losses of one run."""
    run = rate.load(path)
    losses: dict[str, list[Tensor]] = {"own": [], "same": [], "other": []}
    for window in held_out(run, data):
        assert window.oracle is not None
        green = window.oracle.reshape(len(window.oracle), -1)[:, 0].long()
        told = window.oracle if run.policy.takes_oracle else None
        rows = {"own": torch.arange(len(green)), "same": another(green, True), "other": another(green, False)}
        for name, others in rows.items():
            losses[name].append(late_loss(run.policy, exchanged(window, others, told)))
    means = {name: round(float(torch.cat(parts).mean()), 4) for name, parts in losses.items()}
    return {"run": path.name, "model": run.config.model.name, "seed": run.config.seed, "step": run.step, **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for path in chosen.runs:
        line = json.dumps(judged(path, chosen.data))
        print(line, flush=True)
        if chosen.out is not None:
            with chosen.out.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
