"""Action Associative Retrieval: the agent must end the episode with the action that it began with.
The environment of the paper's appendix of that name, alone and in batches, with its oracle.

No observation ever tells the first action: it can only be remembered. An episode is a function of its seed and of the
actions. `import rate` also makes it `gymnasium.make("rate/AAR-v0")`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.hashing import GAMMA, LENGTH_STREAM, NOISE_STREAM, below, key, mix, noise, noise_at, seed_array
from rate.envs.spec import ENVS, BatchStep, CollectRequest, EnvSpec, EvalCase, Player, case_of_length
from rate.errors import ConfigError
from rate.registry import check_names
from rate.score import Score
from rate.types import Array, Spaces, Trajectory, tree_map

STAY = 2
"""The action between the first and the last; 0 and 1 are the two that change the state."""
STATE, FLAG, NOISE = range(3)
"""Columns of the observation."""

MIN_LENGTH = 2
"""Leave the first state, and come back."""


def check_length(length: int) -> int:
    """N, the number of actions of a whole episode."""
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < MIN_LENGTH:
        raise ConfigError(f"aar: length must be a whole number of at least {MIN_LENGTH}, got {length!r}")
    return int(length)


def cue_of(seeds: Array) -> NDArray[np.int64]:
    """The first action of the oracle: 0 for even seeds, 1 for odd ones; consecutive seeds are exactly balanced."""
    return (seeds % 2).astype(np.int64)


def asked(step: int, first: Any, length: int) -> Any:
    """The action that a step after the first asks for."""
    return first if step == length - 1 else STAY


def _spaces() -> Spaces:
    low, high = np.array([0, 0, -1], np.float32), np.ones(3, np.float32)
    return Spaces(observation=gym.spaces.Box(low, high, dtype=np.float32), action=gym.spaces.Discrete(3))


# ------------------------------------------------------------------------------------------------ environments


class AAREnv(gym.Env[NDArray[np.float32], np.int64]):
    """One episode: leave state 0 by action 0 or 1, stay N - 2 times, then repeat the first action.

    Observation [state, flag, noise]; the flag is 1 when the next action must be the first one again.
    """

    # Differs from the paper: it does not say what a_0 = 2 or a wrong action on the way does. Here they end the
    # episode with the reward -1, as a wrong last action does.

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, length: int = 90, render_mode: str | None = None) -> None:
        self.length = check_length(length)
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"aar: render_mode must be None or 'ansi', got {render_mode!r}")
        self.render_mode = render_mode
        spaces = _spaces()
        self.observation_space, self.action_space = spaces.observation, spaces.action
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._noise = noise(seed_array(seed, self.np_random), self.length + 1)[0]
        self.state = self.steps = 0
        self.first: int | None = None
        self._over = False
        return self._observe(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self._check_step(action)
        last = self.steps == self.length - 1
        if self.first is None:
            self.first = int(action)
            right = action != STAY
        else:
            right = action == asked(self.steps, self.first, self.length)
        if right:
            self.state = int(not last)
        self.steps += 1
        self._over = bool(last or not right)
        reward = (1.0 if right else -1.0) if self._over else 0.0
        return self._observe(), reward, self._over, False, {"cue": self.first}

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        zero, one = ("o" if self.state == state else " " for state in (0, 1))
        first = "-" if self.first is None else self.first
        flag = "  repeat it" if self._flag() else ""
        return f"S0 [{zero}]  S1 [{one}]  first action {first}  step {self.steps}/{self.length}{flag}\n"

    def _check_step(self, action: np.int64) -> None:
        if self._over:
            raise gym.error.ResetNeeded("aar: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"aar: actions are 0 and 1, and 2 to stay, got {action!r}")

    def _flag(self) -> bool:
        return self.steps == self.length - 1 and not self._over

    def _observe(self) -> NDArray[np.float32]:
        return np.array([self.state, self._flag(), self._noise[self.steps]], dtype=np.float32)


@dataclass(kw_only=True)
class _Rows:
    """The state of B episodes; every array is (B,)."""

    state: NDArray[np.int64]
    first: NDArray[np.int64]
    done: NDArray[np.bool_]
    counter: NDArray[np.uint64]
    """Where the noise stream is; one more GAMMA per step."""


class AARBatch:
    """B episodes in lock-step. Finished rows stay put, without reward."""

    def __init__(self, length: int = 90) -> None:
        self.length = check_length(length)
        self.spaces = _spaces()
        self.info: Mapping[str, Array] = {}

    def reset(self, seeds: NDArray[np.int64]) -> NDArray[np.float32]:
        size = len(seeds)
        self._steps = 0
        self._rows = _Rows(
            state=np.zeros(size, np.int64),
            first=np.full(size, STAY),
            done=np.zeros(size, np.bool_),
            counter=key(seeds, NOISE_STREAM),
        )
        return self._observe()

    def step(self, action: Array) -> BatchStep:
        rows, live, last = self._rows, ~self._rows.done, self._steps == self.length - 1
        if self._steps == 0:
            rows.first = np.array(action, dtype=np.int64)
            right = rows.first != STAY
        else:
            right = action == asked(self._steps, rows.first, self.length)
        rows.state = np.where(live & right, int(not last), rows.state)
        rows.done = rows.done | ~right | last
        rows.counter = rows.counter + GAMMA
        self._steps += 1
        reward = np.where(right, 1, -1).astype(np.float32) * (live & rows.done)
        return BatchStep(
            observation=self._observe(), reward=reward, terminated=rows.done, truncated=np.zeros_like(rows.done)
        )

    def select(self, rows: NDArray[np.int64]) -> None:
        self._rows = tree_map(lambda leaf: leaf[rows], self._rows)

    def close(self) -> None:
        """Nothing to release."""

    def _observe(self) -> NDArray[np.float32]:
        rows = self._rows
        # A new array each time: callers keep observations.
        observation = np.empty((len(rows.state), 3), dtype=np.float32)
        observation[:, STATE] = rows.state
        observation[:, FLAG] = (self._steps == self.length - 1) & ~rows.done
        observation[:, NOISE] = noise_at(rows.counter)
        return observation


# ------------------------------------------------------------------------------------------------------ oracle


@dataclass(frozen=True, kw_only=True)
class OracleOptions:
    """What the data set of the oracle looks like."""

    length: int = 90
    """N of the longest episode."""
    lengths: str = "exact"
    """`exact`: every episode has that N; `uniform`: each has its own N ~ U[MIN_LENGTH, length]."""

    def __post_init__(self) -> None:
        check_length(self.length)
        if self.lengths not in ("exact", "uniform"):
            raise ConfigError(f"aar expert: lengths must be 'exact' or 'uniform', got {self.lengths!r}")


def oracle(request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of an oracle, all of them successes. Bad options fail at the call."""
    check_names(request.kwargs, [item.name for item in fields(OracleOptions)], "option of the expert of aar:")
    return _episodes(request.seeds, OracleOptions(**request.kwargs))


def _episodes(seeds: NDArray[np.int64], options: OracleOptions, cells: int = 1 << 18) -> Iterator[Trajectory]:
    """Episodes one by one, computed in blocks of about `cells` steps."""
    size = max(1, cells // options.length)
    for start in range(0, len(seeds), size):
        block = seeds[start : start + size]
        yield from _block(block, _lengths(block, options))


def _lengths(seeds: NDArray[np.int64], options: OracleOptions) -> NDArray[np.int64]:
    if options.lengths == "exact":
        return np.full(len(seeds), options.length)
    return MIN_LENGTH + below(mix(key(seeds, LENGTH_STREAM)), options.length - MIN_LENGTH + 1)


def _block(seeds: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[Trajectory]:
    """(B,) -> B episodes of N steps."""
    noises, cues = noise(seeds, int(lengths.max()) + 1), cue_of(seeds)
    for row, (seed, length) in enumerate(zip(seeds.tolist(), lengths.tolist(), strict=True)):
        observations = np.zeros((length + 1, 3), dtype=np.float32)
        observations[1:length, STATE] = 1
        observations[length - 1, FLAG] = 1
        observations[:, NOISE] = noises[row, : length + 1]
        actions = np.full(length, STAY, dtype=np.int64)
        actions[0] = actions[-1] = cues[row]
        yield _trajectory(observations, actions, seed)


def _trajectory(observations: Array, actions: Array, seed: int) -> Trajectory:
    last = np.arange(len(actions)) == len(actions) - 1
    return Trajectory(
        observations=observations,
        actions=actions,
        rewards=last.astype(np.float32),
        terminations=last,
        truncations=np.zeros_like(last),
        infos={"cue": np.full(len(observations), actions[0])},
        seed=seed,
    )


def player(env: gym.Env[Any, Any], rng: np.random.Generator, **_: Any) -> Player:
    """The oracle for one episode: it draws the first action and remembers it."""
    first = int(rng.integers(2))

    def act(observation: Array, previous: Any) -> int:
        return first if previous is None or observation[FLAG] else STAY

    return act


# ---------------------------------------------------------------------------------------------------- registry


def case(length: int = 90) -> EvalCase:
    """Episodes of one length. The policy chooses the first action itself, and must repeat its own choice."""
    return case_of_length(check_length(length))


def success(episode_return: float) -> bool:
    """The agent came back by the action that it left by."""
    return episode_return > 0


ENVS.add(
    "aar",
    EnvSpec(
        name="aar",
        summary="Action Associative Retrieval: the last action must repeat the first, which no observation shows",
        make=AAREnv,
        make_batch=AARBatch,
        expert=oracle,
        expert_defaults=asdict(OracleOptions()),
        player=player,
        case=case,
        score=Score.success(success),
        cue="cue",
        cue_options={"lengths": "exact"},
        axis="length",
        axis_unit="environment steps",
    ),
)
gym.register(id="rate/AAR-v0", entry_point="rate.envs.aar:AAREnv")
