"""The walkers are Gymnasium's, and a view hides, blurs or drops what it says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.envs.mujoco.tasks import WALKERS
from rate.envs.mujoco.wrap import make
from rate.errors import ConfigError, MissingExtraError
from rate.types import Array

pytest.importorskip("mujoco", reason="needs the extra mujoco")

STEPS = 40
IDS = [env_id for env_id, _ in WALKERS.values()]


def seen(env: gym.Env[Any, Any], seed: int = 3) -> tuple[Array, Array]:
    """Observations and rewards of a short episode of fixed actions."""
    rng = np.random.default_rng(0)
    observations, rewards = [env.reset(seed=seed)[0]], []
    size = env.action_space.shape
    for _ in range(STEPS):
        observation, reward, terminated, _, _ = env.step(rng.uniform(-1, 1, size).astype(np.float32))
        observations.append(observation)
        rewards.append(reward)
        if terminated:
            break
    env.close()
    return np.array(observations), np.array(rewards)


@pytest.mark.parametrize("env_id", IDS)
def test_a_whole_view_is_gymnasiums_environment_in_float32(env_id: str) -> None:
    observations, rewards = seen(make(env_id))
    bare, paid = seen(gym.make(env_id))
    np.testing.assert_array_equal(observations, bare.astype(np.float32))
    np.testing.assert_array_equal(rewards, paid)


@pytest.mark.parametrize("env_id", IDS)
def test_positions_and_velocities_are_the_two_halves(env_id: str) -> None:
    whole, rewards = seen(make(env_id))
    halves = [seen(make(env_id, observe=part)) for part in ("positions", "velocities")]
    np.testing.assert_array_equal(np.concatenate([half for half, _ in halves], axis=1), whole)
    for _, paid in halves:
        np.testing.assert_array_equal(paid, rewards)
    env = make(env_id, observe="positions").unwrapped
    env.reset(seed=3)
    np.testing.assert_array_equal(halves[0][0][0], env.data.qpos[1:].astype(np.float32))


def test_noise_is_drawn_from_the_seed_and_leaves_the_physics_alone() -> None:
    whole, rewards = seen(make("HalfCheetah-v5"))
    noisy, paid = seen(make("HalfCheetah-v5", noise=0.5))
    np.testing.assert_array_equal(noisy, seen(make("HalfCheetah-v5", noise=0.5))[0])
    np.testing.assert_array_equal(paid, rewards)
    assert np.std(noisy - whole) == pytest.approx(0.5, rel=0.1)


def test_dropped_steps_show_zeros() -> None:
    whole, _ = seen(make("HalfCheetah-v5"))
    some, _ = seen(make("HalfCheetah-v5", drop=0.5))
    dropped = (some == 0).all(1)
    assert 10 < dropped.sum() < 31
    np.testing.assert_array_equal(some[~dropped], whole[~dropped])
    assert (seen(make("HalfCheetah-v5", drop=1.0))[0] == 0).all()


def test_actions_beyond_the_bounds_cost_no_more_than_those_at_them() -> None:
    outcomes = []
    for size in (1.0, 7.0):
        env = make("Hopper-v5")
        env.reset(seed=0)
        outcomes.append(env.step(np.full(3, size, np.float32))[1])
    assert outcomes[0] == outcomes[1]


def test_episodes_may_be_cut_short() -> None:
    env = make("HalfCheetah-v5", max_steps=3)
    env.reset(seed=0)
    ends = [env.step(np.zeros(6, np.float32))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_nothing_is_written_beside_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """MuJoCo calls a word in the file of the half-cheetah deprecated, on the screen and in MUJOCO_LOG.TXT."""
    monkeypatch.chdir(tmp_path)
    make("HalfCheetah-v5").close()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"observe": "pixels"}, "observe must be one of all, positions, velocities, got 'pixels'"),
        ({"noise": -1.0}, "noise must be a number of at least 0, got -1.0"),
        ({"noise": "much"}, "noise must be a number of at least 0, got 'much'"),
        ({"drop": 1.5}, r"drop must be a number in \[0, 1\], got 1.5"),
        ({"max_steps": 0}, "max_steps must be a positive whole number, got 0"),
        ({"render_mode": "human"}, "render_mode must be None or 'rgb_array'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make("Hopper-v5", **options)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"mujoco is not installed; .*pip install 'rate-rl\[mujoco\]'"):
        make("Hopper-v5")
