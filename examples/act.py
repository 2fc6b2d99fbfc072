"""Load a trained run and act with it: in one environment, then in a batch whose episodes end at different times.

Use: python examples/act.py RUN, where RUN is a directory that `rate train` made.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import numpy as np

import rate


def one_episode(run: rate.Run, length: int, seed: int) -> float:
    """The loop of any Gymnasium environment: `act` before the step, `observe` after it."""
    env, actor = gym.make("rate/TMaze-v0", length=length), run.actor(target_return=1.0)
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(actor.act(observation))
        actor.observe(float(reward))
        total, over = total + float(reward), terminated or truncated
    return total


def many_episodes(run: rate.Run, lengths: list[int], steps: int) -> tuple[int, int]:
    """A vector environment that resets its rows by itself: the actor forgets exactly those rows."""
    makers = [lambda length=length: gym.make("rate/TMaze-v0", length=length) for length in lengths]
    same_step = gym.vector.AutoresetMode.SAME_STEP
    envs, actor = gym.vector.SyncVectorEnv(makers, autoreset_mode=same_step), run.actor(target_return=1.0)
    observations, _ = envs.reset(seed=0)
    episodes = successes = 0
    for _ in range(steps):
        observations, rewards, terminated, truncated, _ = envs.step(actor.act(observations))
        actor.observe(rewards)
        over = np.flatnonzero(terminated | truncated)
        episodes, successes = episodes + len(over), successes + int(rewards[over].sum())
        if len(over):
            actor.reset(over)
    return successes, episodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="run directory")
    parser.add_argument("--length", type=int, default=90, help="steps of the corridor episode")
    chosen = parser.parse_args()
    run = rate.load(chosen.run)
    print(f"one episode of {chosen.length} steps: return {one_episode(run, chosen.length, seed=0):g}")
    successes, episodes = many_episodes(run, [9, 15, 30], steps=120)
    print(f"a batch of three corridors for 120 steps: {successes} successes in {episodes} episodes")


if __name__ == "__main__":
    main()
