"""The expert of Minigrid-Memory: it finds the object of the first room, then compares what lies at the junction.
A function of what it has seen and done, so that a policy with memory can learn all of it.

Differs from the paper: the paper's demonstrations come from a policy that was trained with reinforcement learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.hashing import GAMMA, LENGTH_STREAM, LOSS_STREAM, below, key, mix
from rate.envs.minigrid_grid import (
    BALL,
    EAST,
    FORWARD,
    KEY,
    LEFT,
    NORTH,
    RIGHT,
    SMALLEST,
    SOUTH,
    WALL,
    WEST,
    MinigridMemoryBatch,
    MinigridTask,
    draws,
    observe,
)
from rate.envs.spec import CollectRequest, Player
from rate.errors import ConfigError
from rate.registry import check_names
from rate.seeding import BLOCK
from rate.types import Array, Trajectory

BATCH = 256
"""Episodes that are played together."""
DETOUR_STREAM = LOSS_STREAM + GAMMA
_RETRY = 0x9E3779B
"""Odd, and far from the seeds of the neighbours: where the next draw of an episode that was too short is."""


@dataclass(frozen=True, kw_only=True)
class ExpertOptions(MinigridTask):
    """What the data set of the expert looks like."""

    sizes: str = "exact"
    """`exact`: all grids have that size; `uniform`: each has its own, odd and drawn from 11 .. size."""
    min_length: int = 0
    """Shorter episodes are drawn again; the paper keeps those of at least 60 steps."""
    detours: float | None = None
    """Share of the steps at which it strays: a move at random, after which it finds its way again. None: never."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sizes not in ("exact", "uniform"):
            raise ConfigError(f"minigrid-memory expert: sizes must be 'exact' or 'uniform', got {self.sizes!r}")
        if self.sizes == "uniform" and self.min_length:
            raise ConfigError("minigrid-memory expert: min_length needs sizes='exact'")
        if self.detours is not None and not (isinstance(self.detours, (int, float)) and 0 <= self.detours < 1):
            raise ConfigError(
                f"minigrid-memory expert: detours must be at least 0 and below 1, or None, got {self.detours!r}"
            )
        if self.detours is not None and self.min_length:
            raise ConfigError("minigrid-memory expert: min_length needs detours=None")
        longest = 2 * self.size - 3
        if type(self.min_length) is not int or not 0 <= self.min_length <= longest:
            raise ConfigError(
                f"minigrid-memory expert: min_length must be a whole number from 0 to {longest}, "
                f"the longest walk at size={self.size}, got {self.min_length!r}"
            )


class Detours:
    """Moves at random in place of some that were wanted: turns, and steps along the corridor in either direction.

    They are a function of the seed and the step. They end while there is still time for the longest walk.
    """

    def __init__(self, seeds: NDArray[np.int64], options: ExpertOptions) -> None:
        self.draws, self.share = key(seeds, DETOUR_STREAM), options.detours or 0.0
        self.left = options.max_steps - 2 * options.size - 4

    def __call__(self, wanted: NDArray[np.int64], facing: NDArray[np.int64]) -> NDArray[np.int64]:
        self.left, self.draws = self.left - 1, self.draws + GAMMA
        bits = mix(self.draws)
        move = below(mix(bits), 3)
        # A step across the corridor would leave its row, or end the episode at the junction.
        strays = (bits < self.share * 2.0**64) & ((move != FORWARD) | (facing % 2 == EAST)) & (self.left > 0)
        return np.where(strays, move, wanted)


class ExpertPlayer:
    """The expert for B episodes. What it has seen is all that it knows: it starts facing east and counts its turns."""

    def __init__(self, episodes: int, detours: Detours | None = None) -> None:
        self.detours = detours
        self.facing = np.full(episodes, EAST)
        self.cue = np.zeros(episodes, np.uint8)
        """The object of the first room, once it was seen."""
        self.turned_down = np.full(episodes, -1)
        """Where the wrong object of the junction was seen: NORTH or SOUTH."""

    def act(self, view: Array) -> NDArray[np.int64]:
        """(B, 3, 3) cells in view -> (B,) actions."""
        self._remember(view)
        action = np.where(self.cue > 0, self._to_the_match(view), self._to_the_cue())
        action = action if self.detours is None else self.detours(action, self.facing)
        self.facing = (self.facing + np.array([-1, 1, 0])[action]) % 4
        return action

    def _remember(self, view: Array) -> None:
        objects = np.where((view == KEY) | (view == BALL), view, 0)
        wrong = (self.cue > 0) & (objects[:, 1, 0] > 0) & (objects[:, 1, 0] != self.cue)
        self.turned_down = np.where(wrong, self.facing, self.turned_down)
        # The object of the room is never two cells to the north, and never to the south: those are of the junction.
        objects[self.facing == NORTH, :, 0], objects[self.facing == SOUTH] = 0, 0
        self.cue = np.where(self.cue == 0, objects.max((1, 2)), self.cue)

    def _to_the_cue(self) -> NDArray[np.int64]:
        """Turn left until west is ahead, then walk; at the second column the first turn shows the object already."""
        return np.where(self.facing == WEST, FORWARD, np.where(self.facing == SOUTH, RIGHT, LEFT))

    def _to_the_match(self, view: Array) -> NDArray[np.int64]:
        """Go east to the wall behind the junction; look north for a key and south for a ball; if wrong, turn round.

        Either side would do to look first. As the cue decides, the turn itself shows what was remembered, and it can be
        learned apart from the comparison; and the length of an episode, which its return tells, does not show the cue.
        """
        north_next = np.where(self.turned_down < 0, self.cue == KEY, self.turned_down == SOUTH)
        match_ahead = view[:, 1, 0] == self.cue
        east = np.where(view[:, 1, 1] != WALL, FORWARD, np.where(north_next, LEFT, RIGHT))
        north, south = np.where(match_ahead, FORWARD, RIGHT), np.where(match_ahead, FORWARD, LEFT)
        return np.choose(self.facing, [east, south, np.full_like(east, RIGHT), north])


def walk_length(start: Array, upper: Array, size: int) -> NDArray[np.int64]:
    """Steps of the expert: back to column 3 and forth, two turns each, and a look at the wrong object half of the time.

    For starts at columns 1 and 2, where less turning is needed, the same formula holds.
    """
    steps: NDArray[np.int64] = size + start - 2 + 2 * (upper != KEY)
    return steps


def mean_length(size: int) -> float:
    """Mean of `walk_length` over all episodes of a size."""
    return 1.5 * size - 2


# ------------------------------------------------------------------------------------------------------ episodes


def expert_options(given: Mapping[str, Any]) -> ExpertOptions:
    """Options by name, with a did-you-mean for the name that is not there."""
    check_names(given, [item.name for item in fields(ExpertOptions)], "option of the expert of minigrid-memory:")
    return ExpertOptions(**given)


def expert(request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of the expert; `ExpertOptions` says which. Bad options fail at the call."""
    options = expert_options(request.kwargs)
    return _episodes(request.seeds, options)


def _episodes(seeds: NDArray[np.int64], options: ExpertOptions) -> Iterator[Trajectory]:
    for start in range(0, len(seeds), BATCH):
        block = seeds[start : start + BATCH]
        sizes, played = _sizes(block, options), dict[int, Trajectory]()
        for size in np.unique(sizes).tolist():
            rows, alike = np.flatnonzero(sizes == size).tolist(), replace(options, size=size, sizes="exact")
            played.update(zip(rows, _play(_long_enough(block[rows], alike), alike), strict=True))
        yield from (played[row] for row in range(len(block)))


def _sizes(seeds: NDArray[np.int64], options: ExpertOptions) -> NDArray[np.int64]:
    if options.sizes == "exact":
        return np.full(len(seeds), options.size)
    return SMALLEST + 2 * below(mix(key(seeds, LENGTH_STREAM)), (options.size - SMALLEST) // 2 + 1)


def _long_enough(seeds: NDArray[np.int64], options: ExpertOptions) -> NDArray[np.int64]:
    """The seeds, those of short episodes moved on within their block until they give a long one."""
    chosen = seeds.copy()
    short = np.arange(len(seeds)) if options.min_length else np.arange(0)
    while len(short):
        start, _, upper = draws(chosen[short], options.size)
        lengths = walk_length(start, upper, options.size)
        short = short[lengths < options.min_length]
        chosen[short] = chosen[short] // BLOCK * BLOCK + (chosen[short] % BLOCK + _RETRY) % BLOCK
    return chosen


def _play(seeds: NDArray[np.int64], options: ExpertOptions) -> Iterator[Trajectory]:
    """Play all seeds at once and cut the record into episodes."""
    batch = MinigridMemoryBatch(size=options.size, limit=options.limit)
    batch.reset(seeds)
    walk = ExpertPlayer(len(seeds), None if options.detours is None else Detours(seeds, options))
    views, actions, answers = [batch.view()], [], []
    over = np.zeros(len(seeds), np.bool_)
    lengths = np.zeros(len(seeds), np.int64)
    while not over.all():
        actions.append(walk.act(views[-1]))
        answers.append(batch.step(actions[-1]))
        views.append(batch.view())
        lengths += ~over
        over = over | answers[-1].terminated | answers[-1].truncated
    columns = [
        np.stack(column, 1)
        for column in (
            views,
            actions,
            [answer.reward for answer in answers],
            [answer.terminated for answer in answers],
            [answer.truncated for answer in answers],
        )
    ]
    for row, steps in enumerate(lengths.tolist()):
        view, action, reward, terminated, truncated = (column[row] for column in columns)
        yield Trajectory(
            observations=observe(view[: steps + 1], options),
            actions=action[:steps].astype(np.int64),
            rewards=reward[:steps].astype(np.float32),
            terminations=terminated[:steps].copy(),
            truncations=truncated[:steps].copy(),
            seed=int(seeds[row]),
        )


def player(env: gym.Env[Any, Any], rng: np.random.Generator, **_: Any) -> Player:
    """The expert for one episode; an image and the cells that it shows are the same to it."""
    walk, world = ExpertPlayer(1), env.unwrapped

    def act(observation: Array, previous: Any) -> int:
        return int(walk.act(world.view()[None])[0])  # type: ignore[attr-defined]

    return act
