"""Players of POPGym's cart-poles and pendulums: an extended Kalman filter and a feedback law on its estimate.
They know the physics and the noise, and see what a policy sees: observations and the actions before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.spec import Player
from rate.types import Array

Vector = NDArray[np.float64]

EXACT = 1e-4
"""The noise that a filter assumes where there is none: above the rounding of float32, below all that matters."""


class Filter(Protocol):
    """Estimates the state of an episode."""

    def see(self, observation: Array, previous: Any) -> Vector:
        """The state, after an observation and the action before it (None at the first)."""


# --------------------------------------------------------------------------------------------------- cart-poles

POSITIONS, VELOCITIES = [0, 2], [1, 3]
"""Rows of the state (x, speed of x, angle, speed of the angle); an angle above 0 leans to the right."""
START = 0.05
"""All four numbers start uniformly within this distance from 0."""

# The pole falls by a factor of e in a quarter of a second, so this is close to the sign of its falling mode alone,
# with a slow return to the middle: it forgives wrong estimates far more than the gains of a tight regulator do.
CART_GAINS = np.array([0.015, 0.04, 1.0, 0.18])
DRIFT_GAINS = np.array([0.0, 0.08, 1.0, 0.2])
"""Without the position: the cart is stopped, not brought back. Positions cannot be told from velocities, and who
imitates this player need not add up hundreds of them."""


def position_only_cartpole(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Velocities follow from two positions."""
    return _balance(CartPoleFilter(env.unwrapped, EXACT, POSITIONS), CART_GAINS)


def velocity_only_cartpole(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """The angle follows from two velocities and the push between them."""
    return _balance(CartPoleFilter(env.unwrapped, EXACT, VELOCITIES), DRIFT_GAINS)


def noisy_position_only_cartpole(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Positions and velocities are filtered out of noise."""
    return _balance(CartPoleFilter(env.unwrapped, _noise(env), POSITIONS), CART_GAINS)


def _balance(tracker: Filter, gains: Vector) -> Player:
    """Push to the side to which the pole falls."""

    def act(observation: Array, previous: Any) -> int:
        return int(gains @ tracker.see(observation, previous) > 0.0)

    return act


class CartPoleFilter:
    """The mean moves by the true equations, the covariance by those of small angles."""

    def __init__(self, physics: Any, sigma: float, rows: list[int]) -> None:
        self._physics, self._rows, self._noise = physics, rows, sigma**2 * np.eye(2)
        self._motion = self._linear_motion()
        self.mean = np.zeros(4)
        self.covariance = np.eye(4) * START**2 / 3.0

    def see(self, observation: Array, previous: Any) -> Vector:
        if previous is None:
            self._correct(observation, POSITIONS)  # the first observation is of positions in all three families
        else:
            self.mean = self._moved(*self.mean.tolist(), push=int(previous))
            self.covariance = self._motion @ self.covariance @ self._motion.T
            self._correct(observation, self._rows)
        return self.mean

    def _correct(self, observation: Array, rows: list[int]) -> None:
        shared = self.covariance[:, rows]
        gain = shared @ np.linalg.inv(shared[rows] + self._noise)
        self.mean = self.mean + gain @ (observation - self.mean[rows])
        self.covariance = self.covariance - gain @ shared.T

    def _moved(self, x: float, speed: float, angle: float, spin: float, *, push: int) -> Vector:
        """One Euler step of the cart-pole of Gymnasium."""
        p = self._physics
        cos, sin = math.cos(angle), math.sin(angle)
        force = p.force_mag if push == 1 else -p.force_mag
        drive = (force + p.polemass_length * spin**2 * sin) / p.total_mass
        turn = (p.gravity * sin - cos * drive) / (p.length * (4.0 / 3.0 - p.masspole * cos**2 / p.total_mass))
        thrust = drive - p.polemass_length * turn * cos / p.total_mass
        return np.array([x + p.tau * speed, speed + p.tau * thrust, angle + p.tau * spin, spin + p.tau * turn])

    def _linear_motion(self) -> Vector:
        """The derivative of a step by the state, with the pole upright."""
        p = self._physics
        fall = p.gravity / (p.length * (4.0 / 3.0 - p.masspole / p.total_mass))
        motion = np.eye(4)
        motion[0, 1] = motion[2, 3] = p.tau
        motion[1, 2] = -p.tau * p.polemass_length * fall / p.total_mass
        motion[3, 2] = p.tau * fall
        return motion


# --------------------------------------------------------------------------------------------------- pendulums

CATCH_ANGLE = 1.0
CATCH_LEAN = 4.5
"""Below both, the pendulum is caught and held upright; elsewhere it is swung."""
FALL_RATE = 4.0
"""1/s, near the rate at which an upright pendulum falls: `FALL_RATE * angle + speed` is what grows while it does."""
HOLD_GAIN = 4.0
SWING_GAIN = 0.5
SURPLUS = 0.9
"""Swings aim at a little more energy than standing upright has, so that an error does not leave them short of it."""
START_SPEED = 1.0
"""Pendulums start at any angle, at most this fast."""
MODEL_NOISE = (1e-6, 1e-5)
"""Variances (angle, speed) per step that keep the filter awake in spite of its linear covariance."""


def position_only_pendulum(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """The speed follows from two angles."""
    return _swing_up(PendulumFilter(env.unwrapped, EXACT), swing_torque(env.unwrapped))


def noisy_position_only_pendulum(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Angle and speed are filtered out of noise."""
    return _swing_up(PendulumFilter(env.unwrapped, _noise(env)), swing_torque(env.unwrapped))


def _swing_up(tracker: Filter, torque: Callable[[float, float], float]) -> Player:
    def act(observation: Array, previous: Any) -> NDArray[np.float32]:
        angle, speed = tracker.see(observation, previous).tolist()
        return np.array([torque(angle, speed)], dtype=np.float32)

    return act


def swing_torque(physics: Any) -> Callable[[float, float], float]:
    """(angle from upright, speed) -> torque: pump energy until the pendulum is near the top, then hold it there."""
    half_inertia: float = physics.m * physics.l**2 / 6.0
    half_weight: float = physics.m * physics.g * physics.l / 2.0
    most = float(physics.max_torque)

    def torque(angle: float, speed: float) -> float:
        angle = (angle + math.pi) % (2.0 * math.pi) - math.pi
        lean = FALL_RATE * angle + speed
        if abs(angle) < CATCH_ANGLE and abs(lean) < CATCH_LEAN:
            return min(max(-HOLD_GAIN * lean, -most), most)
        missing = SURPLUS + half_weight * (1.0 - math.cos(angle)) - half_inertia * speed**2
        return math.copysign(most, speed) * min(max(SWING_GAIN * missing, -1.0), 1.0)

    return torque


class PendulumFilter:
    """Starts at the first angle that is seen. The noise on cosine and sine is one on the angle, of the same size."""

    def __init__(self, physics: Any, sigma: float) -> None:
        self._physics, self._noise = physics, sigma**2
        self.mean = np.zeros(2)
        self.covariance = np.diag([sigma**2, START_SPEED**2 / 3.0])

    def see(self, observation: Array, previous: Any) -> Vector:
        cos, sin = observation.tolist()
        if previous is None:
            self.mean = np.array([math.atan2(sin, cos), 0.0])
            return self.mean
        self._move(float(previous[0]))
        angle = self.mean[0]
        surprise = sin * math.cos(angle) - cos * math.sin(angle)
        shared = self.covariance[0]
        gain = shared / (shared[0] + self._noise)
        self.mean = self.mean + gain * surprise
        self.covariance = self.covariance - np.outer(gain, shared)
        return self.mean

    def _move(self, torque: float) -> None:
        """One semi-implicit Euler step of the pendulum of Gymnasium."""
        p = self._physics
        angle, speed = self.mean.tolist()
        pull = 1.5 * p.g / p.l
        torque = min(max(torque, -p.max_torque), p.max_torque)
        speed += p.dt * (pull * math.sin(angle) + 3.0 * torque / (p.m * p.l**2))
        speed = min(max(speed, -p.max_speed), p.max_speed)
        self.mean = np.array([angle + p.dt * speed, speed])
        change = p.dt * pull * math.cos(angle)
        motion = np.array([[1.0 + p.dt * change, p.dt], [change, 1.0]])
        self.covariance = motion @ self.covariance @ motion.T + np.diag(MODEL_NOISE)


def _noise(env: gym.Env[Any, Any]) -> float:
    """The standard deviation of the noise on each number of an observation."""
    physics: Any = env.unwrapped
    return float(physics.noise_sigma[0])
