"""What the colour is worth in the data, and what it takes to find that out: a network without memory on single frames.

It is told the colour of the pillar, or not, and the losses of both say how much better actions are predicted with it.
Its batches are frames of all episodes, or windows of four.

rate collect vizdoom-two-colors --episodes 1200 --set noise=0.15 --out data/two-colors-15
python benchmarks/vizdoom-two-colors/colour.py data/two-colors-15 --out benchmarks/vizdoom-two-colors/colour.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rate.data.store import TrajectoryStore
from rate.data.windows import Windows

STEPS, FRAMES, LENGTH, WIDTH = 1000, 360, 90, 64
"""Optimiser steps, frames of a batch, steps of an episode, and features of a frame."""
EPISODES, HELD_OUT = 1200, 100
RATE, WARMUP = 3e-3, 50


class Single(nn.Module):
    """Convolutions of the recipe, the colour added to what they see, one hidden layer."""

    def __init__(self, mean: Tensor, std: Tensor, told: bool) -> None:
        super().__init__()
        self.mean, self.std, self.told = mean, std, told
        sizes = zip((3, 16, 32), (16, 32, 32), (8, 4, 3), (4, 2, 1), strict=True)
        convolutions = [layer for size in sizes for layer in (nn.Conv2d(*size, padding=1), nn.ReLU())]
        self.seen = nn.Sequential(*convolutions, nn.Flatten(), nn.LazyLinear(WIDTH), nn.Tanh())
        self.colour = nn.Embedding(2, WIDTH)
        self.hidden = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.LazyLinear(WIDTH))
        self.action = nn.Linear(WIDTH, 5)

    def forward(self, frames: Tensor, green: Tensor) -> Tensor:
        features = self.seen((frames.float() / 255 - self.mean) / self.std)
        features = features + self.colour(green) if self.told else features
        logits: Tensor = self.action(features + self.hidden(features))
        return logits


def read(path: Path) -> tuple[Tensor, Tensor, Tensor]:
    """Frames (N, 90, 3, 32, 56), actions (N, 90) and whether the pillar is green (N,)."""
    store = TrajectoryStore.open(path)
    parts = list(Windows(store, np.arange(min(EPISODES, len(store.lengths))), length=LENGTH, oracle="green").fixed(100))
    frames, actions = (torch.cat([getattr(part, name) for part in parts]) for name in ("observation", "action"))
    green = torch.cat([part.oracle for part in parts if part.oracle is not None])
    return frames, actions.long(), green.reshape(len(green), -1)[:, 0].long()


def trained(frames: Tensor, actions: Tensor, green: Tensor, told: bool, apart: bool) -> dict[str, Any]:
    """Losses on held-out episodes by fifteen steps, with the colour and, where it is `told` one, with the other."""
    torch.manual_seed(0)
    rng, sample = np.random.default_rng(0), frames[:300].float() / 255
    mean, std = sample.mean((0, 1, 3, 4))[:, None, None], sample.std((0, 1, 3, 4))[:, None, None]
    network, many = Single(mean, std, told), len(frames) - HELD_OUT
    network(frames[0, :2], green[:2])  # makes the layers whose size follows from the input
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, betas=(0.9, 0.95))
    for step in range(STEPS):
        rows = (
            rng.integers(many, size=FRAMES) if apart else np.repeat(rng.integers(many, size=FRAMES // LENGTH), LENGTH)
        )
        times = rng.integers(LENGTH, size=FRAMES) if apart else np.tile(np.arange(LENGTH), FRAMES // LENGTH)
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / WARMUP) * (1 - 0.9 * step / STEPS)
        optimizer.zero_grad()
        F.cross_entropy(network(frames[rows, times], green[rows]), actions[rows, times]).backward()
        optimizer.step()
    held = slice(many, None)
    found = {"loss": losses(network, frames[held], actions[held], green[held])}
    return {**found, "other_colour": losses(network, frames[held], actions[held], 1 - green[held])} if told else found


@torch.no_grad()
def losses(network: Single, frames: Tensor, actions: Tensor, green: Tensor) -> list[float]:
    logits = torch.stack([network(one, colour.expand(LENGTH)) for one, colour in zip(frames, green, strict=True)])
    by_step = F.cross_entropy(logits.flatten(0, 1), actions.flatten(), reduction="none").view(actions.shape)
    return [round(float(part.mean()), 4) for part in by_step.split(15, 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for path in chosen.data:
        noise = TrajectoryStore.open(path).card["options"].get("noise")
        columns = read(path)
        for told, apart in ((True, True), (False, True), (True, False)):
            line = {"noise": noise, "told": told, "frames_of_all_episodes": apart, **trained(*columns, told, apart)}
            with chosen.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)


if __name__ == "__main__":
    main()
