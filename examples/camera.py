"""A problem of one's own: a Dict with a camera, continuous actions, and a lamp whose colour must be remembered.

`python examples/camera.py DIRECTORY` writes demonstrations; the environment is `camera:make`.
"""

import sys

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import rate
from rate.types import Spaces

SIDE = 16


class Camera(gym.Env):
    """A red or green lamp for two steps; long after, a white frame asks: steer right after red, left after green."""

    observation_space = spaces.Dict(
        {"camera": spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8), "drift": spaces.Box(-1, 1, (1,), np.float32)}
    )
    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.colour, self.time, self.length = self.np_random.integers(2), 0, self.np_random.integers(12, 25)
        return self._seen(), {"colour": int(self.colour)}

    def step(self, action):
        near, self.time = np.abs(action - self.wanted()).max() < 0.4, self.time + 1
        over = bool(self.time == self.length)
        return self._seen(), float(over and near), over, False, {}

    def wanted(self):
        """Against the drift, which is seen, and at the end to the side that the lamp told."""
        turn = 0.8 - 1.6 * self.colour if self.time == self.length - 1 else 0.0
        return np.array([turn, -self.drift[0] / 2], np.float32)

    def _seen(self):
        frame = self.np_random.integers(0, 60, (SIDE, SIDE, 3)).astype(np.uint8)
        if self.time < 2:
            frame[4:12, 4:12, self.colour] = 220
        if self.time == self.length - 1:
            frame[[0, -1]] = frame[:, [0, -1]] = 255
        self.drift = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        return {"camera": frame, "drift": self.drift}


def make():
    return Camera()


def demonstration(seed):
    env, rng = make(), np.random.default_rng(seed)
    seen, actions, over = [env.reset(seed=seed)[0]], [], False
    while not over:
        actions.append(np.clip(env.wanted() + rng.normal(0, 0.05, 2), -1, 1).astype(np.float32))
        observation, reward, over, _, _ = env.step(actions[-1])
        seen.append(observation)
    last = np.arange(len(actions)) == len(actions) - 1
    columns = {name: np.stack([one[name] for one in seen]) for name in seen[0]}
    ends = {"terminations": last, "truncations": ~last & False}
    return rate.Trajectory(observations=columns, actions=np.stack(actions), rewards=last * reward, **ends, seed=seed)


if __name__ == "__main__":
    made = {"environment": "camera:make", "options": {}, "generator": "examples/camera.py"}
    own = Spaces(observation=Camera.observation_space, action=Camera.action_space)
    with rate.StoreWriter(sys.argv[1], spaces=own, **made) as writer:
        for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 2000):
            writer.add(demonstration(number))
