"""Size and reading time of stored images: plain, packed, and packed with each frame of a stack stored once.

    python benchmarks/speed/images.py

Prints bytes per frame on disk, and the time of a batch of 16 windows of 30 steps beside one training step of DT on it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces as gs

from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import Windows
from rate.envs import ENVS
from rate.models import MODELS
from rate.objectives.behaviour_cloning import BehaviourCloning
from rate.types import Array, Spaces, Trajectory

LENGTH, EPISODES, BATCH, WINDOW, REPEATS = 60, 40, 16, 30, 10


def grids() -> list[Array]:
    """Rendered views of Minigrid-Memory under random actions, 84 x 84 x 3."""
    env, rng = ENVS.get("minigrid-memory").make(observation="rgb", size=41), np.random.default_rng(0)
    episodes = []
    for seed in range(EPISODES):
        frames, over = [env.reset(seed=seed)[0]], False
        while len(frames) <= LENGTH:
            seen, _, terminated, truncated, _ = (
                env.step(int(rng.integers(3))) if not over else (frames[-1], 0, 1, 1, {})
            )
            frames, over = [*frames, seen], terminated or truncated
        episodes.append(np.stack(frames))
    return episodes


def games() -> list[Array]:
    """A ball over a background of tiles, 84 x 84, grey."""
    rng, episodes = np.random.default_rng(0), []
    for _ in range(EPISODES):
        tiles = (rng.integers(0, 4, (21, 21)) * 50).repeat(4, 0).repeat(4, 1)
        frames = np.stack([tiles] * (LENGTH + 1)).astype(np.uint8)
        for step, at in enumerate(np.abs((np.arange(LENGTH + 1) * 3) % 140 - 70)):
            frames[step, at : at + 6, (2 * step) % 70 : (2 * step) % 70 + 6] = 255
        episodes.append(frames)
    return episodes


def stacks(frames: Array) -> Array:
    padded = np.concatenate([frames[:1]] * 3 + [frames])
    return np.stack([padded[step : step + 4] for step in range(len(frames))])


def write(path: Path, episodes: list[Array], **options: Any) -> TrajectoryStore:
    spaces = Spaces(observation=gs.Box(0, 255, episodes[0].shape[1:], np.uint8), action=gs.Discrete(3))
    head: dict[str, Any] = {"spaces": spaces, "environment": "", "options": {}, "generator": "benchmark"}
    with StoreWriter(path, **head, **options, sync=False) as writer:
        for frames in episodes:
            writer.add(
                Trajectory(
                    observations=frames,
                    actions=np.zeros(LENGTH, np.int64),
                    rewards=np.zeros(LENGTH, np.float32),
                    terminations=np.arange(LENGTH) == LENGTH - 1,
                    truncations=np.zeros(LENGTH, bool),
                )
            )
    return TrajectoryStore.open(path)


def milliseconds(function: Any) -> float:
    function(0)
    began = time.process_time()
    for step in range(1, REPEATS + 1):
        function(step)
    return 1e3 * (time.process_time() - began) / REPEATS


def training(store: TrajectoryStore, windows: Windows) -> float:
    torch.manual_seed(0)
    policy, objective, window = (
        MODELS.get("dt")(WINDOW).build(store.spaces),
        BehaviourCloning(),
        windows.batch(0, BATCH),
    )
    return milliseconds(lambda step: objective(policy, window).total.backward())


def main() -> None:
    torch.set_num_threads(1)
    kinds = {"minigrid 84x84x3": (grids(), {}), "game 84x84": (games(), {})}
    kinds["game, 4 frames"] = ([stacks(frames) for frames in games()], {"frame_stack": {"observations": 4}})
    print(f"{'images':18} {'stored':14} {'bytes / frame':>14} {'batch ms':>9} {'training step ms':>17}")
    with tempfile.TemporaryDirectory() as root:
        for name, (episodes, once) in kinds.items():
            ways: dict[str, dict[str, Any]] = {"plain": {"pack": False}, "packed": {}}
            ways |= {"once": {**once, "pack": False}, "once, packed": once} if once else {}
            for way, options in ways.items():
                path = Path(root) / f"{name}-{way}"
                store = write(path, episodes, **options)
                size = sum(file.stat().st_size for file in path.rglob("observations*"))
                windows = Windows(store, range(len(store)), length=WINDOW, start="random")
                batch = milliseconds(lambda step, windows=windows: windows.batch(step, BATCH))
                step = training(store, windows) if way == "plain" else float("nan")
                frames = EPISODES * (LENGTH + 1)
                print(f"{name:18} {way:14} {size / frames:14.0f} {batch:9.1f} {step:17.0f}", flush=True)


if __name__ == "__main__":
    main()
