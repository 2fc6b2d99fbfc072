"""SerialBatch: any observation tree, lazily made instances, finished rows left alone."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rate.envs.batch import SerialBatch, stack_trees


class Countdown(gym.Env[Any, Any]):
    """Ends after seed % 4 + 1 steps (terminated if the seed is even) and refuses to be stepped further."""

    made: list[Countdown] = []

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "left": spaces.Discrete(100),
                "pair": spaces.Tuple([spaces.Box(-1e9, 1e9, (2,), np.float64), spaces.MultiBinary(3)]),
            }
        )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.buffer = np.zeros(2)
        self.closed = False
        self.made.append(self)

    def observe(self) -> dict[str, Any]:
        return {"left": self.left, "pair": (self.buffer, np.ones(3, np.int8))}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.first = int(seed or 0)
        self.left = self.first % 4 + 1
        self.buffer[:] = self.first
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.left > 0, "stepped after the end"
        self.left -= 1
        self.buffer += action  # in place: the batch must not hand this buffer out
        over, even = self.left == 0, self.first % 2 == 0
        return self.observe(), float(action.sum()), over and even, over and not even, {}

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def batch() -> SerialBatch:
    Countdown.made.clear()
    return SerialBatch(Countdown)


def test_instances_are_made_lazily_and_reused(batch: SerialBatch) -> None:
    assert len(Countdown.made) == 1
    for size, made in ((3, 3), (2, 3), (5, 5)):
        batch.reset(np.arange(size))
        assert len(Countdown.made) == made
    batch.close()
    assert all(env.closed for env in Countdown.made)


def test_trees_are_stacked_by_leaf(batch: SerialBatch) -> None:
    observation = batch.reset(np.array([4, 9]))
    assert observation["left"].tolist() == [1, 2]
    assert observation["pair"][0].tolist() == [[4, 4], [9, 9]]
    assert observation["pair"][1].shape == (2, 3)
    assert isinstance(batch.spaces.observation, spaces.Dict)
    assert isinstance(batch.spaces.action, spaces.Box)


def test_finished_rows_are_not_stepped_again(batch: SerialBatch) -> None:
    batch.reset(np.arange(4))
    answers = [batch.step(np.full((4, 2), 0.5, np.float32)) for _ in range(5)]
    rewards = np.array([answer.reward for answer in answers])
    assert rewards.sum(axis=0).tolist() == [1, 2, 3, 4]
    ends = np.array([answer.terminated | answer.truncated for answer in answers])
    assert ends.sum(axis=0).tolist() == [5, 4, 3, 2]
    assert answers[-1].terminated.tolist() == [True, False, True, False]
    assert answers[-1].truncated.tolist() == [False, True, False, True]
    assert answers[-1].observation["pair"][0][:, 0].tolist() == [0.5, 2, 3.5, 5]


def test_answers_are_safe_to_keep(batch: SerialBatch) -> None:
    first = batch.reset(np.array([3]))
    second = batch.step(np.ones((1, 2), np.float32))
    for _ in range(3):
        batch.step(np.ones((1, 2), np.float32))
    assert first["pair"][0].tolist() == [[3, 3]]
    assert second.observation["pair"][0].tolist() == [[4, 4]]
    assert not second.truncated.any()


def test_select_goes_on_with_the_rows_in_their_order(batch: SerialBatch) -> None:
    batch.reset(np.arange(4))
    batch.step(np.zeros((4, 2), np.float32))
    batch.select(np.array([3, 1]))
    answer = batch.step(np.array([[1, 1], [2, 2]], np.float32))
    assert answer.observation["left"].tolist() == [2, 0]
    assert answer.observation["pair"][0].tolist() == [[4, 4], [3, 3]]
    assert answer.truncated.tolist() == [False, True]


def test_a_batch_of_nothing_is_refused(batch: SerialBatch) -> None:
    with pytest.raises(ValueError, match="at least one seed"):
        batch.reset(np.arange(0))


def test_a_gymnasium_environment_of_another_project() -> None:
    seeds, actions = np.array([5, 6]), np.ones(2, np.int64)
    batch = SerialBatch(lambda: gym.make("CartPole-v1"))
    env = gym.make("CartPole-v1")
    np.testing.assert_array_equal(batch.reset(seeds)[1], env.reset(seed=6)[0])
    for _ in range(5):
        np.testing.assert_array_equal(batch.step(actions).observation[1], env.step(np.int64(1))[0])


def test_stack_trees_of_scalars() -> None:
    assert stack_trees([1, 2]).tolist() == [1, 2]
