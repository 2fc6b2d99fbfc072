"""The oracle of the Passive T-Maze: it knows the clue, and plays the corridors that its options name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.hashing import LENGTH_STREAM, LOSS_STREAM, below, key, mix, noise
from rate.envs.spec import CollectRequest, Player
from rate.envs.tmaze_env import CLUE, DOWN, FLAG, MIN_LENGTH, NOISE, RIGHT, UP, Y, clue_of, corridor_of
from rate.errors import ConfigError
from rate.registry import check_names
from rate.types import Array, Trajectory


@dataclass(frozen=True, kw_only=True)
class OracleOptions:
    """What the data set of the oracle looks like."""

    length: int = 30
    """The longest episode limit T."""
    lengths: str = "uniform"
    """`uniform`: each corridor ~ U[1, length - 2]; `exact`: the limits that `segments` names, nothing between."""
    segments: int = 1
    """With `exact` lengths: episodes spread evenly over the limits length * k / segments, k = 1 .. segments."""
    loss_fraction: float = 0.0
    """This share of the episodes (rounded to whole episodes) turns the wrong way."""

    def __post_init__(self) -> None:
        corridor_of(self.length)
        for name in ("segments", "loss_fraction"):
            if not isinstance(getattr(self, name), (int, float)):
                raise ConfigError(f"tmaze expert: {name} must be a number, got {getattr(self, name)!r}")
        if self.lengths not in ("uniform", "exact"):
            raise ConfigError(f"tmaze expert: lengths must be 'uniform' or 'exact', got {self.lengths!r}")
        if not 0.0 <= self.loss_fraction <= 1.0:
            raise ConfigError(f"tmaze expert: loss_fraction must lie in [0, 1], got {self.loss_fraction}")
        self._check_segments()

    def _check_segments(self) -> None:
        if self.segments < 1 or self.length % self.segments or self.length // self.segments < MIN_LENGTH:
            raise ConfigError(
                f"tmaze expert: segments={self.segments} must cut length={self.length} into equal parts "
                f"of at least {MIN_LENGTH} steps"
            )
        if self.segments > 1 and self.lengths != "exact":
            raise ConfigError(f"tmaze expert: segments={self.segments} needs lengths='exact'")


def oracle_options(given: Mapping[str, Any]) -> OracleOptions:
    """Options by name, with a did-you-mean for the name that is not there."""
    check_names(given, [item.name for item in fields(OracleOptions)], "option of the expert of tmaze:")
    return OracleOptions(**given)


def oracle(request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of an oracle that knows the clue; `OracleOptions` says which. Bad options fail at the call."""
    options = oracle_options(request.kwargs)
    seeds = replace(request, part=None).seeds
    turns = np.where(_losers(seeds, options), -1, 1) * clue_of(seeds)
    asked = slice(request.indices.start, request.indices.stop)
    return _episodes(seeds[asked], _corridors(seeds, options)[asked], turns[asked])


def _corridors(seeds: NDArray[np.int64], options: OracleOptions) -> NDArray[np.int64]:
    if options.lengths == "uniform":
        return 1 + below(mix(key(seeds, LENGTH_STREAM)), options.length - 2)
    # Neighbours share a class because neighbours differ in their clue: every class stays balanced.
    part = np.arange(len(seeds)) // 2 % options.segments
    return (part + 1) * (options.length // options.segments) - 2


def _losers(seeds: NDArray[np.int64], options: OracleOptions) -> NDArray[np.bool_]:
    """Exactly the rounded share of the episodes: those that the hash of their seed puts first."""
    rank = np.argsort(np.argsort(key(seeds, LOSS_STREAM)))
    return rank < round(options.loss_fraction * len(seeds))


def _episodes(seeds: Array, corridors: Array, turns: Array, cells: int = 1 << 18) -> Iterator[Trajectory]:
    """Episodes one by one, computed in blocks of about `cells` padded steps."""
    size = max(1, cells // int(corridors.max(initial=1)))
    for start in range(0, len(seeds), size):
        block = slice(start, start + size)
        yield from _block(seeds[block], corridors[block], turns[block])


def _block(seeds: Array, corridors: Array, turns: Array) -> Iterator[Trajectory]:
    """The corridor of L steps and the turn, for all seeds at once; (B,) -> B episodes of L + 1 steps."""
    rows, longest = np.arange(len(seeds)), int(corridors.max()) + 2
    observations = np.zeros((len(seeds), longest, 4), dtype=np.float32)
    observations[:, 0, CLUE] = clue_of(seeds)
    observations[:, :, NOISE] = noise(seeds, longest)
    observations[rows, corridors, FLAG] = 1
    observations[rows, corridors + 1, FLAG] = 1  # in the arm x is still that of the junction
    observations[rows, corridors + 1, Y] = turns
    turn_actions, rewards = np.where(turns > 0, UP, DOWN), turns == clue_of(seeds)
    for row, corridor in enumerate(corridors.tolist()):
        # Copies: an episode that is kept must not keep its block.
        yield _trajectory(observations[row, : corridor + 2].copy(), turn_actions[row], rewards[row], int(seeds[row]))


def _trajectory(observations: Array, turn: int, reward: bool, seed: int) -> Trajectory:
    steps = len(observations) - 1
    actions, rewards = np.full(steps, RIGHT, dtype=np.int64), np.zeros(steps, dtype=np.float32)
    terminations = np.zeros(steps, dtype=np.bool_)
    actions[-1], rewards[-1], terminations[-1] = turn, reward, True
    return Trajectory(
        observations=observations,
        actions=actions,
        rewards=rewards,
        terminations=terminations,
        truncations=np.zeros(steps, dtype=np.bool_),
        infos={"clue": np.full(steps + 1, observations[0, CLUE])},
        seed=seed,
    )


def player(env: gym.Env[Any, Any], rng: np.random.Generator, loss_fraction: float = 0.0, **_: Any) -> Player:
    """The oracle for one episode, which it sees through the observations alone."""
    loses = rng.random() < loss_fraction
    turn = UP

    def act(observation: Array, previous: Any) -> int:
        nonlocal turn
        if previous is None:
            turn = UP if (observation[CLUE] > 0) != loses else DOWN
        return turn if observation[FLAG] else RIGHT

    return act
