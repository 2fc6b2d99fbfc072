"""Endless T-Maze: a chain of T-Mazes. Each corridor begins with a new clue, and the one before is void.

T-Maze asks whether a memory keeps; this one asks whether it can also be written anew. As there, every random number is
a hash of (seed, stream, counter), so an episode is a function of its seed alone; with more corridors it is continued.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.hashing import (
    GAMMA,
    LENGTH_STREAM,
    LOSS_STREAM,
    NOISE_STREAM,
    below,
    key,
    mix,
    noise,
    noise_at,
    seed_array,
)
from rate.envs.spec import ENVS, BatchStep, CollectRequest, EnvSpec, EvalCase, Player
from rate.envs.tmaze_env import CLUE, DOWN, FLAG, NOISE, RIGHT, UP, Y, corridor_of
from rate.errors import ConfigError
from rate.registry import check_names
from rate.score import Score
from rate.types import Array, Spaces, Trajectory, tree_map

CLUE_STREAM = LOSS_STREAM + GAMMA
_ADVANCE = np.array([1, 0, -1, 0], dtype=np.int64)
_TURN = np.array([0, 1, 0, -1], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Which corridors an episode has; also the options of the expert."""

    corridors: int = 3
    """How many, one after the other."""
    length: int = 30
    """The most steps that a corridor with its turn may take, so that it has at most length - 2 cells."""
    lengths: str = "uniform"
    """`uniform`: each corridor ~ U[1, length - 2], drawn from the seed; `exact`: all have length - 2 cells."""

    def __post_init__(self) -> None:
        corridor_of(self.length)
        if not isinstance(self.corridors, int) or self.corridors < 1:
            raise ConfigError(f"tmaze-endless: corridors must be a whole number of at least 1, got {self.corridors!r}")
        if self.lengths not in ("uniform", "exact"):
            raise ConfigError(f"tmaze-endless: lengths must be 'uniform' or 'exact', got {self.lengths!r}")

    @property
    def limit(self) -> int:
        """Steps after which an episode is cut."""
        return self.corridors * self.length

    def draw(self, seeds: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells and the clue (+1 up, -1 down) of each corridor, (B, corridors) both."""
        place = np.arange(self.corridors, dtype=np.uint64) * GAMMA
        cells = np.full((len(seeds), self.corridors), self.length - 2, dtype=np.int64)
        if self.lengths == "uniform":
            cells = 1 + below(mix(key(seeds, LENGTH_STREAM)[:, None] + place), self.length - 2)
        return cells, 2 * below(mix(key(seeds, CLUE_STREAM)[:, None] + place), 2) - 1


@dataclass(kw_only=True)
class _Rows:
    """The state of B episodes; every array is (B,) or (B, corridors)."""

    cells: NDArray[np.int64]
    clues: NDArray[np.int64]
    counter: NDArray[np.uint64]
    """Where the noise stream is; one more GAMMA per step."""
    at: NDArray[np.int64]
    """The corridor; equal to their number after the last turn."""
    x: NDArray[np.int64]
    y: NDArray[np.int64]
    """The last turn, once there is no corridor behind it."""
    new: NDArray[np.bool_]
    """Whether the corridor has just been entered: its clue is seen now and never again."""


class TMazeEndlessBatch:
    """B episodes in lock-step. Finished rows stay put, without reward."""

    def __init__(self, corridors: int = 3, length: int = 30, lengths: str = "uniform") -> None:
        self.chain = Chain(corridors=corridors, length=length, lengths=lengths)
        observation = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.spaces = Spaces(observation=observation, action=gym.spaces.Discrete(4))
        self.info: Mapping[str, Array] = {}

    def reset(self, seeds: NDArray[np.int64]) -> NDArray[np.float32]:
        cells, clues = self.chain.draw(seeds)
        still = np.zeros(len(seeds), np.int64)
        self._steps = 0
        self._rows = _Rows(
            cells=cells,
            clues=clues,
            counter=key(seeds, NOISE_STREAM),
            at=still,
            x=still,
            y=still,
            new=np.ones(len(seeds), np.bool_),
        )
        self.info = {"clues": clues}
        return self._observe()

    def step(self, action: Array) -> BatchStep:
        rows, chain = self._rows, self.chain
        live = (rows.at < chain.corridors) & (self._steps < chain.limit)
        turn = _TURN[action] * (live & self._at_junction())
        right = turn == self._of(rows.clues)
        reward = np.where((turn != 0) & right, 1 / chain.corridors, 0).astype(np.float32)
        moved = np.minimum(np.maximum(rows.x + _ADVANCE[action] * live, 0), self._of(rows.cells))
        rows.x, rows.at = np.where(turn != 0, 0, moved), rows.at + (turn != 0)
        over = rows.at >= chain.corridors
        rows.new, rows.y = (turn != 0) & ~over, np.where(over & (turn != 0), turn, rows.y)
        rows.counter = rows.counter + GAMMA
        self._steps += 1
        truncated = ~over & (self._steps >= chain.limit)
        return BatchStep(observation=self._observe(), reward=reward, terminated=over, truncated=truncated)

    def select(self, rows: NDArray[np.int64]) -> None:
        self._rows = tree_map(lambda leaf: leaf[rows], self._rows)

    def close(self) -> None:
        """Nothing to release."""

    def _of(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """What belongs to the corridor that each row is in, or was in last."""
        at = np.minimum(self._rows.at, self.chain.corridors - 1)
        return np.take_along_axis(values, at[:, None], 1)[:, 0]

    def _at_junction(self) -> NDArray[np.bool_]:
        there: NDArray[np.bool_] = self._rows.x == self._of(self._rows.cells)
        return there | (self._rows.at >= self.chain.corridors)

    def _observe(self) -> NDArray[np.float32]:
        rows = self._rows
        observation = np.empty((len(rows.x), 4), dtype=np.float32)
        observation[:, Y] = rows.y
        observation[:, CLUE] = self._of(rows.clues) * rows.new
        observation[:, FLAG] = self._at_junction()
        observation[:, NOISE] = noise_at(rows.counter)
        return observation


class TMazeEndlessEnv(gym.Env[NDArray[np.float32], np.int64]):
    """One episode: in each corridor walk right to the junction, then turn where its first observation pointed.

    Observation [y, clue, flag, noise]; actions right, up, left, down; each right turn earns its share of 1, a wrong
    one nothing, and both lead on. Ends after the last turn (terminated) or after corridors x length steps (truncated).
    """

    def __init__(self, corridors: int = 3, length: int = 30, lengths: str = "uniform") -> None:
        self._batch = TMazeEndlessBatch(corridors, length, lengths)
        self.observation_space, self.action_space = self._batch.spaces.observation, self._batch.spaces.action
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        observation = self._batch.reset(seed_array(seed, self.np_random).astype(np.int64))[0]
        self._over = False
        return observation, {"clues": self._batch.info["clues"][0]}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gym.error.ResetNeeded("tmaze-endless: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"tmaze-endless: actions are 0 right, 1 up, 2 left, 3 down, got {action!r}")
        answer = self._batch.step(np.array([action]))
        terminated, truncated = bool(answer.terminated[0]), bool(answer.truncated[0])
        self._over = terminated or truncated
        return answer.observation[0], float(answer.reward[0]), terminated, truncated, {}


# ------------------------------------------------------------------------------------------------------ expert


def expert(request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of an oracle that knows all clues; the options are those of `Chain`."""
    check_names(request.kwargs, [item.name for item in fields(Chain)], "option of the expert of tmaze-endless:")
    chain, seeds = Chain(**request.kwargs), request.seeds
    return map(_episode, seeds, *chain.draw(seeds))


def _episode(seed: np.int64, cells: NDArray[np.int64], clues: NDArray[np.int64]) -> Trajectory:
    """The walks and the turns of one episode."""
    ends = np.cumsum(cells + 1)  # the step after each turn
    steps = int(ends[-1])
    observations = np.zeros((steps + 1, 4), dtype=np.float32)
    observations[np.concatenate([[0], ends[:-1]]), CLUE] = clues
    observations[ends - 1, FLAG] = 1
    observations[-1, [Y, FLAG]] = clues[-1], 1  # as in T-Maze: in the arm x is still that of the junction
    observations[:, NOISE] = noise(np.array([seed]), steps + 1)[0]
    actions, rewards = np.full(steps, RIGHT, dtype=np.int64), np.zeros(steps, dtype=np.float32)
    actions[ends - 1], rewards[ends - 1] = np.where(clues > 0, UP, DOWN), 1 / len(clues)
    terminations = np.zeros(steps, dtype=np.bool_)
    terminations[-1] = True
    return Trajectory(
        observations=observations,
        actions=actions,
        rewards=rewards,
        terminations=terminations,
        truncations=np.zeros(steps, dtype=np.bool_),
        seed=int(seed),
    )


def player(env: gym.Env[Any, Any], rng: np.random.Generator, **_: Any) -> Player:
    """The oracle for one episode, which it sees through the observations alone."""
    turn = UP

    def act(observation: Array, previous: Any) -> int:
        nonlocal turn
        if observation[CLUE]:
            turn = UP if observation[CLUE] > 0 else DOWN
        return turn if observation[FLAG] else RIGHT

    return act


# ---------------------------------------------------------------------------------------------------- registry


def case(corridors: int = 3, length: int = 30, lengths: str = "uniform") -> EvalCase:
    """Episodes of so many corridors."""
    chain = Chain(corridors=corridors, length=length, lengths=lengths)
    given = asdict(chain)
    shown = [f"{name}={value}" for name, value in given.items() if name == "corridors" or value != getattr(Chain, name)]
    return EvalCase(
        name=",".join(shown),
        kwargs=given,
        target_return=1.0,
        max_steps=chain.limit,
        tags={name: str(value) for name, value in given.items()},
    )


def success(episode_return: float) -> bool:
    """All turns were right."""
    return episode_return > 1 - 1e-4


ENVS.add(
    "tmaze-endless",
    EnvSpec(
        name="tmaze-endless",
        summary="A chain of T-Mazes: each corridor begins with a new clue, and the one before is void",
        make=TMazeEndlessEnv,
        make_batch=TMazeEndlessBatch,
        expert=expert,
        expert_defaults=asdict(Chain()),
        player=player,
        case=case,
        score=Score.success(success),
        axis="corridors",
        axis_unit="corridors",
    ),
)
gym.register(id="rate/TMazeEndless-v0", entry_point="rate.envs.tmaze_endless:TMazeEndlessEnv")
