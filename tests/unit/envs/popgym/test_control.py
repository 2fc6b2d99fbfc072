"""The players of cart-poles and pendulums: how well they play, what they believe, what they forgive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("popgym")

from rate.envs.demonstrate import distracted, episode
from rate.envs.popgym import control
from rate.envs.popgym.wrap import make
from rate.envs.spec import Player

Factory = Callable[[gym.Env[Any, Any], np.random.Generator], Player]
PLAYERS: dict[str, Factory] = {
    "PositionOnlyCartPole": control.position_only_cartpole,
    "VelocityOnlyCartPole": control.velocity_only_cartpole,
    "NoisyPositionOnlyCartPole": control.noisy_position_only_cartpole,
    "PositionOnlyPendulum": control.position_only_pendulum,
    "NoisyPositionOnlyPendulum": control.noisy_position_only_pendulum,
}
RANDOM = {"CartPole": 0.2, "Pendulum": 0.35}
"""Mean returns that random actions stay below."""


def returns(family: str, level: str, player: Factory, episodes: int) -> np.ndarray:
    env = make(family, level)
    return np.array([episode(env, player, seed).rewards.sum() for seed in range(episodes)])


def careless(player: Factory, epsilon: float) -> Factory:
    return lambda env, rng: distracted(player(env, rng), env.action_space, rng, epsilon)


@pytest.mark.parametrize("family", PLAYERS)
def test_random_actions_stay_below_the_bounds_that_follow(family: str) -> None:
    kind = "CartPole" if family.endswith("CartPole") else "Pendulum"
    assert returns(family, "Easy", careless(PLAYERS[family], 1.0), 5).mean() < RANDOM[kind]


@pytest.mark.parametrize("level", ["Easy", "Medium", "Hard"])
@pytest.mark.parametrize("family", ["PositionOnlyCartPole", "VelocityOnlyCartPole"])
def test_a_pole_without_noise_never_falls(family: str, level: str) -> None:
    assert returns(family, level, PLAYERS[family], 2) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("task", "bound"),
    [
        ("NoisyPositionOnlyCartPole-Easy", 0.9),
        ("NoisyPositionOnlyCartPole-Medium", 0.45),
        ("NoisyPositionOnlyCartPole-Hard", 0.25),
        ("PositionOnlyPendulum-Easy", 0.85),
        ("PositionOnlyPendulum-Medium", 0.8),
        ("PositionOnlyPendulum-Hard", 0.7),
        ("NoisyPositionOnlyPendulum-Easy", 0.84),
        ("NoisyPositionOnlyPendulum-Medium", 0.68),
        ("NoisyPositionOnlyPendulum-Hard", 0.6),
    ],
)
def test_noise_and_swings_cost_little(task: str, bound: float) -> None:
    family, level = task.split("-")
    assert returns(family, level, PLAYERS[family], 10).mean() > bound


@pytest.mark.parametrize("family", ["PositionOnlyCartPole", "VelocityOnlyCartPole"])
def test_a_pole_without_noise_survives_random_actions(family: str) -> None:
    assert returns(family, "Hard", careless(PLAYERS[family], 0.1), 2) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("family", ["NoisyPositionOnlyCartPole", "PositionOnlyPendulum", "NoisyPositionOnlyPendulum"])
def test_random_actions_cost_the_others_little(family: str) -> None:
    assert returns(family, "Easy", careless(PLAYERS[family], 0.1), 5).mean() > 0.75


@pytest.mark.parametrize("family", PLAYERS)
def test_an_episode_is_a_function_of_its_seed(family: str) -> None:
    first, again, other = (episode(make(family, "Easy"), PLAYERS[family], seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.actions, again.actions)
    np.testing.assert_array_equal(first.observations, again.observations)
    assert len(first.actions) != len(other.actions) or (first.actions != other.actions).any()


# ------------------------------------------------------------------------------------------------------ beliefs


def beliefs(family: str, tracker: Callable[[Any], control.Filter], epsilon: float = 0.1) -> np.ndarray:
    """|estimate - truth| of the state (steps, state) over an episode in which random actions are mixed in."""
    env, rng = make(family, "Easy"), np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    play = careless(PLAYERS[family], epsilon)(env, rng)
    estimate = tracker(env.unwrapped)
    errors, previous, over = [], None, False
    while not over:
        state = np.array(env.unwrapped.state)  # type: ignore[attr-defined]
        errors.append(np.abs(estimate.see(observation, previous) - state))
        previous = play(observation, previous)
        observation, _, terminated, truncated, _ = env.step(previous)
        over = terminated or truncated
    return np.array(errors)


@pytest.mark.parametrize(
    ("family", "rows"),
    [("PositionOnlyCartPole", control.POSITIONS), ("VelocityOnlyCartPole", control.VELOCITIES)],
)
def test_the_state_of_a_cart_is_known_where_there_is_no_noise(family: str, rows: list[int]) -> None:
    errors = beliefs(family, lambda physics: control.CartPoleFilter(physics, control.EXACT, rows))
    assert len(errors) == 200
    assert errors[20:].max() < 0.01


def test_the_state_of_a_pendulum_is_known_where_there_is_no_noise() -> None:
    errors = beliefs("PositionOnlyPendulum", lambda physics: control.PendulumFilter(physics, control.EXACT))
    assert errors[0, 1] > 0.05  # one angle tells nothing of the speed
    assert errors[5:].max() < 0.01


def test_filtered_positions_are_better_than_seen_ones() -> None:
    """With a noise of 0.1, of which one observation alone leaves 0.08 in the mean."""
    cart = beliefs("NoisyPositionOnlyCartPole", lambda physics: control.CartPoleFilter(physics, 0.1, control.POSITIONS))
    pendulum = beliefs("NoisyPositionOnlyPendulum", lambda physics: control.PendulumFilter(physics, 0.1))
    assert cart[:, control.POSITIONS].mean() < 0.05
    assert pendulum[:, 0].mean() < 0.065
    assert pendulum[20:, 1].mean() < 0.3


def test_the_filter_is_told_what_was_played() -> None:
    """A filter that believed in the player's own wishes would lose the pole."""
    env = make("PositionOnlyCartPole", "Easy")
    observation, _ = env.reset(seed=0)
    physics: Any = env.unwrapped
    true, fooled = (control.CartPoleFilter(physics, control.EXACT, control.POSITIONS) for _ in range(2))
    true.see(observation, None)
    fooled.see(observation, None)
    observation, *_ = env.step(1)
    errors = [np.abs(tracker.see(observation, push) - physics.state)[1] for tracker, push in ((true, 1), (fooled, 0))]
    assert errors[0] < 0.06 < 0.2 < errors[1]


# ---------------------------------------------------------------------------------------------------- tolerance


@pytest.mark.parametrize("error", [(0.5, 0.0), (-1.0, 0.0), (0.0, 0.05)])
def test_velocities_suffice_though_the_first_positions_were_wrong(error: tuple[float, float]) -> None:
    def misled(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
        play = control.velocity_only_cartpole(env, rng)
        return lambda seen, previous: play(seen + np.array(error) if previous is None else seen, previous)

    assert returns("VelocityOnlyCartPole", "Hard", careless(misled, 0.05), 1) == pytest.approx(1.0, abs=1e-5)


def test_a_pendulum_is_held_still_at_the_top_and_pumped_at_the_bottom() -> None:
    torque = control.swing_torque(make("PositionOnlyPendulum", "Easy").unwrapped)
    assert torque(0.0, 0.0) == 0.0
    assert torque(0.1, 0.0) < 0.0 < torque(-0.1, 0.0)
    assert torque(0.1, 0.0) == pytest.approx(torque(0.1 + 2.0 * np.pi, 0.0))
    assert torque(np.pi, 0.5) == 2.0 == -torque(np.pi, -0.5)
    assert torque(np.pi / 2.0, 8.0) < 0.0  # far too fast: brake
