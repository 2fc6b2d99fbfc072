"""A policy that sees 16 x 16 pixels learns end to end: a colour is shown first, and asked for when it is long gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces as gs

from rate.config import EnvConfig, RunConfig
from rate.data.config import DataConfig
from rate.data.store import StoreWriter
from rate.experiment import train_run
from rate.models import MODELS
from rate.nn.encoders import EncoderConfig
from rate.training.config import TrainConfig
from rate.types import Array, Spaces, Trajectory

SIDE, LENGTH = 16, 6
SPACES = Spaces(observation=gs.Box(0, 255, (SIDE, SIDE, 3), np.uint8), action=gs.Discrete(3))
WAIT = 2


def episode(rng: np.random.Generator) -> tuple[Array, int]:
    """Noise; in the first frame a red or a green square somewhere, in the last a white frame around it."""
    frames, colour = rng.integers(0, 90, (LENGTH, SIDE, SIDE, 3)), int(rng.integers(2))
    top, left = rng.integers(1, SIDE - 6, 2)
    frames[0, top : top + 5, left : left + 5, colour] = 220
    frames[-1, [0, -1]] = frames[-1, :, [0, -1]] = 255
    return frames.astype(np.uint8), colour


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, rng = tmp_path_factory.mktemp("images") / "set", np.random.default_rng(0)
    with StoreWriter(path, spaces=SPACES, environment="", options={}, generator="expert", sync=False) as writer:
        for _ in range(400):
            frames, colour = episode(rng)
            writer.add(
                Trajectory(
                    observations=np.concatenate([frames, frames[-1:]]),
                    actions=np.array([WAIT] * (LENGTH - 1) + [colour]),
                    rewards=np.eye(LENGTH, dtype=np.float32)[-1],
                    terminations=np.arange(LENGTH) == LENGTH - 1,
                    truncations=np.zeros(LENGTH, bool),
                )
            )
    return path


def success(policy: Any, episodes: int = 60) -> float:
    """Share of new episodes in which the last action is the colour and all others wait."""
    made = [episode(np.random.default_rng([1, number])) for number in range(episodes)]
    frames, colours = np.stack([one for one, _ in made]), np.array([colour for _, colour in made])
    actor = policy.actor(1.0)
    chosen = []
    for step in range(LENGTH):
        chosen.append(actor.act(frames[:, step]))
        actor.observe(np.zeros(episodes, np.float32))
    return float(((chosen[-1] == colours) & (np.stack(chosen[:-1]) == WAIT).all(0)).mean())


def test_a_colour_is_kept(data: Path, tmp_path: Path) -> None:
    sizes = {"layers": 2, "width": 32, "heads": 2, "head_width": 16, "dropout": 0.0, "segment_len": 3}
    # Segments that hold the whole episode teach the task, those of three steps teach memory to carry it.
    steps = {"window": LENGTH, "segment_lens": (6, 3), "steps": 400, "warmup_steps": 20}
    config = RunConfig(
        recipe="own",
        env=EnvConfig(name=""),
        model=MODELS.get("rate")(LENGTH, **sizes, encoder=EncoderConfig(channels=(8, 16, 16))),
        data=DataConfig(path=str(data), shift=2),
        train=TrainConfig(**steps, batch_size=32, learning_rate=3e-3, device="cpu"),
    )
    assert success(train_run(config, tmp_path / "run")) > 0.9  # a policy without memory has 0.5
