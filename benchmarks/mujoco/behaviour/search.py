"""Find linear policies for MuJoCo's walkers by Augmented Random Search (Mania, Guy and Recht, 2018, version V2-t).

    python benchmarks/mujoco/behaviour/search.py hopper --out runs/mujoco/search --steps 1500000

The state is saved after every iteration and an interrupted search goes on where it was, with the same numbers:
iteration n draws from a generator of (seed, n). `series.jsonl` keeps the policy of every iteration; `grades.py`
makes the package's grades of it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

TEST_EPISODES = 5


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The search of one environment; the values of the paper's table 9, with an episode as one rollout."""

    env_id: str
    step_size: float
    noise: float
    directions: int
    top: int
    bonus: float
    """The reward for being alive, which hides the differences: it is subtracted while searching."""


SETTINGS = {
    "hopper": Settings(env_id="Hopper-v5", step_size=0.01, noise=0.025, directions=8, top=4, bonus=1.0),
    "halfcheetah": Settings(env_id="HalfCheetah-v5", step_size=0.02, noise=0.03, directions=32, top=4, bonus=0.0),
    "walker2d": Settings(env_id="Walker2d-v5", step_size=0.03, noise=0.025, directions=40, top=30, bonus=1.0),
}


@dataclass
class State:
    """All that the next iteration depends on."""

    iteration: int
    steps: int
    seconds: float
    matrix: np.ndarray
    count: float
    mean: np.ndarray
    squares: np.ndarray
    """Summed squared deviations from the mean."""

    @property
    def std(self) -> np.ndarray:
        return np.sqrt(self.squares / max(self.count - 1, 1)) if self.count > 1 else np.ones_like(self.mean)

    def learn(self, seen: np.ndarray) -> None:
        """Take observations (N, S) into the normaliser (Chan's formula)."""
        count, mean = len(seen), seen.mean(0)
        delta, total = mean - self.mean, self.count + count
        self.squares = self.squares + seen.var(0) * count + delta**2 * self.count * count / total
        self.mean, self.count = self.mean + delta * count / total, total

    def as_json(self) -> dict[str, Any]:
        return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(self).items()}


def rollout(env: gym.Env, matrix: np.ndarray, mean: np.ndarray, std: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """The return of one episode, and its observations."""
    observation, _ = env.reset(seed=seed)
    seen, total, over = [observation], 0.0, False
    scaled = matrix / np.maximum(std, 1e-6)
    while not over:
        action = np.clip(scaled @ (observation - mean), -1.0, 1.0)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
        seen.append(observation)
    return total, np.array(seen)


def iterate(env: gym.Env, state: State, settings: Settings, seed: int) -> dict[str, float]:
    """One iteration: two-sided perturbations, the best directions, one step."""
    rng = np.random.default_rng([seed, state.iteration])
    deltas = rng.standard_normal((settings.directions, *state.matrix.shape))
    returns, searched, seen = np.zeros((settings.directions, 2)), np.zeros((settings.directions, 2)), []
    for index, delta in enumerate(deltas):
        for side, sign in enumerate((1.0, -1.0)):
            policy = state.matrix + sign * settings.noise * delta
            total, observations = rollout(env, policy, state.mean, state.std, int(rng.integers(2**31)))
            returns[index, side] = total
            searched[index, side] = total - settings.bonus * (len(observations) - 1)
            seen.append(observations)
    best = np.argsort(-searched.max(1))[: settings.top]
    spread = max(float(searched[best].std()), 1e-6)
    slope = np.einsum("k,kij->ij", searched[best, 0] - searched[best, 1], deltas[best])
    state.matrix = state.matrix + settings.step_size / (settings.top * spread) * slope
    state.steps += sum(len(observations) - 1 for observations in seen)
    state.learn(np.concatenate(seen))
    state.iteration += 1
    return {"rollouts_mean": round(float(returns.mean()), 2), "rollouts_max": round(float(returns.max()), 2)}


def start(env: gym.Env) -> State:
    actions, size = env.action_space.shape[0], env.observation_space.shape[0]
    zeros = np.zeros(size)
    return State(0, 0, 0.0, np.zeros((actions, size)), 0.0, zeros, zeros.copy())


def load(path: Path) -> State:
    fields = json.loads(path.read_text())
    return State(**{key: np.array(value) if isinstance(value, list) else value for key, value in fields.items()})


def save(path: Path, state: State) -> None:
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(state.as_json()))
    os.replace(beside, path)


def forget_after(path: Path, iteration: int) -> None:
    """Lines that were written after the state was saved would stand twice."""
    if path.exists():
        kept = [line for line in path.read_text().splitlines() if json.loads(line)["iteration"] < iteration]
        path.write_text("".join(line + "\n" for line in kept))


def line_of(state: State, env: gym.Env, test_every: int) -> dict[str, Any]:
    """The policy before an iteration, with what it reaches where it is tested."""
    line: dict[str, Any] = {"iteration": state.iteration, "steps": state.steps}
    if state.iteration % test_every == 0:
        seeds = range(10_000, 10_000 + TEST_EPISODES)
        tests = [rollout(env, state.matrix, state.mean, state.std, seed)[0] for seed in seeds]
        line |= {"test": round(float(np.mean(tests)), 2), "test_std": round(float(np.std(tests)), 2)}
    policy = {"matrix": state.matrix, "mean": state.mean, "std": state.std}
    return line | {key: np.round(value, 6).tolist() for key, value in policy.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env", choices=SETTINGS)
    parser.add_argument("--out", type=Path, default=Path("runs/mujoco/search"))
    parser.add_argument("--steps", type=int, default=1_500_000, help="environment steps of the whole search")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--directions", type=int, help="instead of the paper's number")
    parser.add_argument("--top", type=int, help="instead of the paper's number")
    parser.add_argument("--step-size", type=float, help="instead of the paper's")
    parser.add_argument("--test-every", type=int, default=10, help="iterations between tests of the policy itself")
    options = parser.parse_args()

    given = {name: getattr(options, name) for name in ("directions", "top", "step_size")}
    settings = replace(SETTINGS[options.env], **{name: value for name, value in given.items() if value is not None})
    directory = options.out / f"{options.env}-seed{options.seed}"
    directory.mkdir(parents=True, exist_ok=True)
    env = gym.make(settings.env_id)
    saved, series = directory / "state.json", directory / "series.jsonl"
    state = load(saved) if saved.exists() else start(env)
    forget_after(series, state.iteration)
    while state.steps < options.steps:
        began = time.monotonic()
        line = line_of(state, env, options.test_every)
        line |= iterate(env, state, settings, options.seed)
        state.seconds += time.monotonic() - began
        with series.open("a") as file:
            file.write(json.dumps(line | {"seconds": round(state.seconds, 1)}) + "\n")
        save(saved, state)
        if "test" in line:
            shown = {key: value for key, value in line.items() if isinstance(value, int | float)}
            print(json.dumps(shown | {"seconds": round(state.seconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
