"""Own environment, own data: python examples/own_data.py [optimiser steps]. Writes runs/echo and runs/echo-data."""

import sys

import gymnasium as gym
import numpy as np

import rate
from rate.data.store import is_store
from rate.envs.spec import CollectRequest, spaces_of
from rate.seeding import Purpose, episode_seeds


class Echo(gym.Env):
    """Shows a symbol (0 or 1), is silent (2) for four steps, then asks (3) for the symbol."""

    observation_space, action_space = gym.spaces.Discrete(4), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.symbol, self.time = int(self.np_random.integers(2)), 0
        return self.symbol, {}

    def step(self, action):
        self.time += 1
        over = self.time == 6
        return 3 if self.time >= 5 else 2, float(over and action == self.symbol), over, False, {}


def episodes(request):
    """Episodes played well; your own logs take this place. The seeds are none that evaluation uses."""
    for seed in episode_seeds(Purpose.COLLECT, request.seed, request.episodes).tolist():
        env = Echo()
        first, _ = env.reset(seed=seed)
        actions = np.array([0] * 5 + [env.symbol])
        observations, rewards, terminated, truncated, _ = zip(*map(env.step, actions), strict=True)
        arrays = {"observations": np.array([first, *observations]), "actions": actions, "rewards": np.array(rewards)}
        yield rate.Trajectory(**arrays, terminations=np.array(terminated), truncations=np.array(truncated), seed=seed)


how = {"make": Echo, "make_batch": lambda: rate.SerialBatch(Echo), "expert": episodes, "expert_defaults": {}}
judge = {"case": lambda: rate.EvalCase(name="echo", target_return=1.0, max_steps=6), "success": lambda total: total > 0}
spec = rate.ENVS.add("echo", rate.EnvSpec(name="echo", summary="Recall a symbol", **how, **judge))

if not is_store("runs/echo-data"):
    with rate.StoreWriter(
        "runs/echo-data", spaces=spaces_of(spec), environment="echo", options={}, generator="me"
    ) as writer:
        for episode in episodes(CollectRequest(episodes=400, seed=0, kwargs={})):
            writer.add(episode)

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
model = rate.RateConfig(segment_len=3, layers=1, width=32, heads=2, head_width=16, dropout=0.0)
train = rate.TrainConfig(window=6, steps=steps, learning_rate=3e-3, warmup_steps=20)
data = rate.DataConfig(path="runs/echo-data")
config = rate.RunConfig(recipe="own", env=rate.EnvConfig(name="echo"), model=model, train=train, data=data)
print(rate.train_run(config, "runs/echo", resume=True).evaluate()[0].success_rate)
