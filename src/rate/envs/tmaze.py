"""Passive T-Maze: a clue in the first observation decides the turn at the end of a corridor.
The environment of the paper's section "T-Maze", alone and in batches, with its oracle.

An episode is a function of its seed alone: every random number is a hash of (seed, stream, counter), so the episode
is the same alone, in any batch and in any order. `import rate` also makes it `gymnasium.make("rate/TMaze-v0")`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
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
from rate.envs.spec import ENVS, BatchStep, CollectRequest, EnvSpec, EvalCase, Player, case_of_length
from rate.errors import ConfigError
from rate.registry import check_names
from rate.score import Score
from rate.types import Array, Spaces, Trajectory, tree_map

RIGHT, UP, LEFT, DOWN = range(4)
Y, CLUE, FLAG, NOISE = range(4)
"""Columns of the observation."""

MIN_LENGTH = 3
"""One corridor cell, and the two steps that L + 2 adds to it."""

_ADVANCE = np.array([1, 0, -1, 0], dtype=np.int64)
_TURN = np.array([0, 1, 0, -1], dtype=np.int64)


def clue_of(seeds: Array) -> NDArray[np.int64]:
    """+1 (up) for even seeds, -1 (down) for odd ones: consecutive seeds are exactly balanced."""
    return np.where(seeds % 2 == 0, 1, -1)


# ------------------------------------------------------------------------------------------------ environments


def corridor_of(length: int | Array) -> NDArray[np.int64]:
    """The corridor L = length - 2, which is also the x of the junction."""
    limit = np.asarray(length)
    if limit.dtype.kind not in "iu" or limit.size == 0 or limit.min() < MIN_LENGTH:
        raise ConfigError(f"tmaze: length must be a whole number of at least {MIN_LENGTH}, got {length!r}")
    return limit.astype(np.int64) - 2


def _spaces() -> Spaces:
    return Spaces(observation=gym.spaces.Box(-1.0, 1.0, (4,), np.float32), action=gym.spaces.Discrete(4))


class TMazeEnv(gym.Env[NDArray[np.float32], np.int64]):
    """One episode: walk right to the junction, then turn where the first observation pointed.

    Observation [y, clue, flag, noise]; actions right, up, left, down; reward 1 in the right arm, else 0.
    Ends in an arm (terminated) or after `length` = L + 2 steps outside of one (truncated).
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, length: int = 30, render_mode: str | None = None) -> None:
        self.junction = int(corridor_of(length))
        self.length = int(length)
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"tmaze: render_mode must be None or 'ansi', got {render_mode!r}")
        self.render_mode = render_mode
        spaces = _spaces()
        self.observation_space, self.action_space = spaces.observation, spaces.action
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        seeds = seed_array(seed, self.np_random)
        self.clue = int(clue_of(seeds)[0])
        self._noise = noise(seeds, self.length + 1)[0]
        self.x = self.y = self.steps = 0
        self._over = False
        return self._observe(self.clue), {"clue": self.clue}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self._check_step(action)
        if self.x == self.junction:
            self.y = int(_TURN[action])
        self.x = min(max(self.x + int(_ADVANCE[action]), 0), self.junction)
        self.steps += 1
        terminated = self.y != 0
        truncated = self.steps >= self.length and not terminated
        self._over = terminated or truncated
        return self._observe(0), float(self.y == self.clue), terminated, truncated, {"clue": self.clue}

    def render(self) -> str | None:
        return draw(self.x, self.y, self.junction, self.clue) if self.render_mode == "ansi" else None

    def _check_step(self, action: np.int64) -> None:
        if self._over:
            raise gym.error.ResetNeeded("tmaze: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"tmaze: actions are 0 right, 1 up, 2 left, 3 down, got {action!r}")

    def _observe(self, clue: int) -> NDArray[np.float32]:
        return np.array([self.y, clue, self.x == self.junction, self._noise[self.steps]], dtype=np.float32)


def draw(x: int, y: int, junction: int, clue: int) -> str:
    """The maze as text: `o` the agent, `G` the goal, `~` cells left out."""
    shown = sorted({cell for near in (0, x, junction) for cell in range(near - 2, near + 3) if 0 <= cell <= junction})
    corridor, last = "", -1
    for cell in shown:
        corridor += ("~" if cell > last + 1 else "") + ("o" if (cell, y) == (x, 0) else ".")
        last = cell
    arms = {side: "o" if y == side else "G" if clue == side else "." for side in (1, -1)}
    indent = " " * (len(corridor) - 1)
    return f"{indent}{arms[1]}\n{corridor}\n{indent}{arms[-1]}\n"


@dataclass(kw_only=True)
class _Rows:
    """The state of B episodes; every array is (B,)."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    done: NDArray[np.bool_]
    junction: NDArray[np.int64]
    clue: NDArray[np.int64]
    counter: NDArray[np.uint64]
    """Where the noise stream is; one more GAMMA per step."""


class TMazeBatch:
    """B episodes in lock-step; `length` is one number or one per row. Finished rows stay put, without reward."""

    def __init__(self, length: int | Array = 30) -> None:
        self._corridor = corridor_of(length)
        self.spaces = _spaces()
        self.info: Mapping[str, Array] = {}

    def reset(self, seeds: NDArray[np.int64]) -> NDArray[np.float32]:
        size = len(seeds)
        if self._corridor.shape not in ((), (size,)):
            raise ConfigError(f"tmaze: {len(self._corridor)} lengths were given for a batch of {size} episodes")
        self._steps = 0
        self._rows = _Rows(
            x=np.zeros(size, np.int64),
            y=np.zeros(size, np.int64),
            done=np.zeros(size, np.bool_),
            junction=np.broadcast_to(self._corridor, size),
            clue=clue_of(seeds),
            counter=key(seeds, NOISE_STREAM),
        )
        self.info = {"clue": self._rows.clue}
        return self._observe(self._rows.clue)

    def step(self, action: Array) -> BatchStep:
        rows = self._rows
        live = ~rows.done
        turn = _TURN[action] * (live & (rows.x == rows.junction))
        rows.y = rows.y + turn
        rows.x = np.minimum(np.maximum(rows.x + _ADVANCE[action] * live, 0), rows.junction)
        rows.counter = rows.counter + GAMMA
        self._steps += 1
        terminated = rows.y != 0
        truncated = (self._steps >= rows.junction + 2) & ~terminated
        rows.done = terminated | truncated
        reward = (turn == rows.clue).astype(np.float32)
        return BatchStep(observation=self._observe(0), reward=reward, terminated=terminated, truncated=truncated)

    def select(self, rows: NDArray[np.int64]) -> None:
        self._rows = tree_map(lambda leaf: leaf[rows], self._rows)

    def close(self) -> None:
        """Nothing to release."""

    def _observe(self, clue: NDArray[np.int64] | int) -> NDArray[np.float32]:
        rows = self._rows
        # A new array each time: callers keep observations.
        observation = np.empty((len(rows.x), 4), dtype=np.float32)
        observation[:, Y] = rows.y
        observation[:, CLUE] = clue
        observation[:, FLAG] = rows.x == rows.junction
        observation[:, NOISE] = noise_at(rows.counter)
        return observation


# ------------------------------------------------------------------------------------------------------ oracle


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
    """The walk of L steps and the turn, for all seeds at once; (B,) -> B episodes of L + 1 steps."""
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


# ---------------------------------------------------------------------------------------------------- registry


def case(length: int = 30) -> EvalCase:
    """Episodes of one length."""
    corridor_of(length)
    return case_of_length(length)


def success(episode_return: float) -> bool:
    """The agent reached the right arm."""
    return episode_return > 0.5


ENVS.add(
    "tmaze",
    EnvSpec(
        name="tmaze",
        summary="Passive T-Maze: a clue in the first observation decides the turn at the end of a corridor",
        make=TMazeEnv,
        make_batch=TMazeBatch,
        expert=oracle,
        expert_defaults=asdict(OracleOptions()),
        player=player,
        case=case,
        score=Score.success(success),
        tags=("clue",),
        oracle={"clue": gym.spaces.Box(-1.0, 1.0, (), np.float32)},
        cue="clue",
        cue_options={"lengths": "exact"},
        axis="length",
        axis_unit="environment steps",
    ),
)
gym.register(id="rate/TMaze-v0", entry_point="rate.envs.tmaze:TMazeEnv")
