"""The 48 tasks of POPGym, 16 families at three levels: rules, limits, players, and the returns that judge them.
They are registered as `popgym/<Family>-<Level>` without importing the `popgym` package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.batch import SerialBatch
from rate.envs.demonstrate import demonstrate
from rate.envs.popgym import cards, control, grids, mazes, wrap
from rate.envs.popgym.grades import check_grade, err, paper_like
from rate.envs.spec import ENVS, CollectRequest, EnvSpec, EvalCase, Player
from rate.registry import check_names
from rate.types import Trajectory

LEVELS = ("Easy", "Medium", "Hard")
MEMORY, REACTIVE = "memory", "reactive"
Triple = tuple[float, float, float]
"""One number per level."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One game at three levels."""

    name: str
    rules: str
    subset: str
    """The paper's: memory puzzles (11 families, 33 tasks) and reactive tasks (5 families, 15 tasks)."""
    player: Callable[[gym.Env[Any, Any], np.random.Generator], Player]
    max_steps: tuple[int, int, int]
    played: tuple[int, int, int] | None = None
    """About as many steps as the longest of 1,000 episodes of the player has, where that is far from the limit."""
    expert: Triple
    """Mean return of the player: what a policy is asked for in an evaluation (benchmarks/popgym/experts)."""
    paper: Triple
    """Mean return of the paper's data. Differs from the paper: its table has Medium and Hard exchanged."""


FAMILIES = (
    Family(
        name="Autoencode",
        rules="watch a deck of cards, then name their suits in reverse order",
        subset=MEMORY,
        player=cards.autoencode,
        max_steps=(103, 207, 311),
        expert=(1.0, 1.0, 1.0),
        paper=(-0.26, -0.43, -0.48),
    ),
    Family(
        name="Battleship",
        rules="sink four ships on a hidden board; a shot answers hit or miss",
        subset=MEMORY,
        player=grids.battleship,
        max_steps=(64, 100, 144),
        expert=(0.64, 0.65, 0.68),
        paper=(-0.35, -0.40, -0.43),
    ),
    Family(
        name="Concentration",
        rules="turn cards over two at a time and find all pairs",
        subset=MEMORY,
        player=cards.concentration,
        max_steps=(104, 208, 104),
        expert=(0.81, 0.81, 0.7),
        paper=(-0.12, -0.44, -0.87),
    ),
    Family(
        name="CountRecall",
        rules="say how often the card that is asked for has been dealt",
        subset=MEMORY,
        player=cards.count_recall,
        max_steps=(51, 103, 207),
        expert=(1.0, 1.0, 1.0),
        paper=(0.22, -0.55, -0.48),
    ),
    Family(
        name="HigherLower",
        rules="guess whether the next card ranks higher or lower",
        subset=MEMORY,
        player=cards.higher_lower,
        max_steps=(51, 103, 155),
        expert=(0.54, 0.52, 0.51),
        paper=(0.51, 0.49, 0.49),
    ),
    Family(
        name="LabyrinthEscape",
        played=(90, 180, 270),
        rules="find the exit of a maze, seeing 3x3 cells",
        subset=MEMORY,
        player=mazes.labyrinth_escape,
        max_steps=(1023, 1023, 1023),
        expert=(0.97, 0.94, 0.9),
        paper=(0.95, -0.49, -0.94),
    ),
    Family(
        name="LabyrinthExplore",
        played=(105, 210, 345),
        rules="visit every cell of a maze, seeing 3x3 cells",
        subset=MEMORY,
        player=mazes.labyrinth_explore,
        max_steps=(1023, 1023, 1023),
        expert=(0.97, 0.93, 0.87),
        paper=(0.96, 0.87, 0.79),
    ),
    Family(
        name="MineSweeper",
        rules="open all squares without a mine; an opened square tells how many mines touch it",
        subset=MEMORY,
        player=grids.minesweeper,
        max_steps=(14, 30, 54),
        expert=(0.67, 0.62, 0.72),
        paper=(0.28, -0.10, -0.27),
    ),
    Family(
        name="MultiarmedBandit",
        rules="find the arm that pays most often, and pull it",
        subset=MEMORY,
        player=cards.multiarmed_bandit,
        max_steps=(200, 400, 600),
        expert=(0.72, 0.84, 0.86),
        paper=(0.62, 0.59, 0.43),
    ),
    Family(
        name="NoisyPositionOnlyCartPole",
        rules="balance a pole on a cart, seeing noisy positions and no velocities",
        subset=REACTIVE,
        player=control.noisy_position_only_cartpole,
        max_steps=(200, 200, 200),
        expert=(1.0, 0.63, 0.38),
        paper=(0.98, 0.57, 0.36),
    ),
    Family(
        name="NoisyPositionOnlyPendulum",
        rules="swing a pendulum up, seeing a noisy angle and no velocity",
        subset=REACTIVE,
        player=control.noisy_position_only_pendulum,
        max_steps=(200, 200, 200),
        expert=(0.89, 0.75, 0.67),
        paper=(0.90, 0.73, 0.67),
    ),
    Family(
        name="PositionOnlyCartPole",
        rules="balance a pole on a cart, seeing positions and no velocities",
        subset=REACTIVE,
        player=control.position_only_cartpole,
        max_steps=(200, 400, 600),
        expert=(1.0, 1.0, 1.0),
        paper=(1.0, 1.0, 1.0),
    ),
    Family(
        name="PositionOnlyPendulum",
        rules="swing a pendulum up, seeing its angle and no velocity",
        subset=REACTIVE,
        player=control.position_only_pendulum,
        max_steps=(200, 150, 100),
        expert=(0.9, 0.87, 0.81),
        paper=(0.92, 0.88, 0.82),
    ),
    Family(
        name="RepeatFirst",
        rules="name the suit of the first card at every step",
        subset=MEMORY,
        player=cards.repeat_first,
        max_steps=(51, 415, 831),
        expert=(1.0, 1.0, 1.0),
        paper=(1.0, 1.0, 0.99),
    ),
    Family(
        name="RepeatPrevious",
        rules="name the suit of the card of k - 1 steps ago, k = 4, 32, 64",
        subset=MEMORY,
        player=cards.repeat_previous,
        max_steps=(51, 103, 155),
        expert=(1.0, 1.0, 1.0),
        paper=(1.0, -0.39, -0.48),
    ),
    Family(
        name="VelocityOnlyCartPole",
        rules="balance a pole on a cart, seeing velocities and, in the first observation alone, positions",
        subset=REACTIVE,
        player=control.velocity_only_cartpole,
        max_steps=(200, 400, 600),
        expert=(1.0, 1.0, 1.0),
        paper=(1.0, 1.0, 0.99),
    ),
)


def player(
    family: Family,
    level: str,
    env: gym.Env[Any, Any],
    rng: np.random.Generator,
    grade: str = "expert",
    observation: str = "spaces",
    epsilon: float | None = None,
) -> Player:
    """The expert of a task for one episode, at one of the grades. It plays in raw environments too."""
    check_grade(grade, epsilon)
    expert = family.player if grade == "expert" else paper_like(family.player, family.name, LEVELS.index(level))
    expert = expert if epsilon is None else err(expert, lambda rng: epsilon)
    play = expert(env, rng)
    if not isinstance(env, wrap.Raw):
        return play
    native = env.native
    return lambda seen, previous: play(native(seen), previous)


def expert(family: Family, level: str, request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of the expert. Options: `grade` ("expert", "paper-like"), `observation` ("spaces", "raw"), `epsilon`."""
    options = {**EXPERT_DEFAULTS, **request.kwargs}
    check_names(options, EXPERT_DEFAULTS, f"option of the expert of popgym/{family.name}-{level}:")
    check_grade(options["grade"], options["epsilon"])
    env = wrap.make(family.name, level, observation=options["observation"])
    return demonstrate(env, partial(player, family, level, **options), request.seeds.tolist())


def case(family: Family, level: str, observation: str = "spaces") -> EvalCase:
    """The task as it is; the return to ask for is the expert's."""
    at = LEVELS.index(level)
    return EvalCase(
        name="default" if observation == "spaces" else f"observation={observation}",
        kwargs={"observation": observation},
        target_return=family.expert[at],
        max_steps=family.max_steps[at],
        tags={"family": family.name, "level": level, "subset": family.subset},
    )


def make_batch(family: str, level: str, observation: str = "spaces") -> SerialBatch:
    """Many episodes of a task."""
    return SerialBatch(partial(wrap.make, family, level, observation))


TASKS = tuple(f"popgym/{family.name}-{level}" for family in FAMILIES if family.player is not None for level in LEVELS)
"""The names of the tasks in the registry."""
PLAYED = {
    f"popgym/{family.name}-{level}": (family.played or family.max_steps)[at]
    for family in FAMILIES
    for at, level in enumerate(LEVELS)
}
"""Task to the steps of the longest episodes that its expert plays."""
EXPERT_DEFAULTS: Mapping[str, Any] = {"grade": "expert", "observation": "spaces", "epsilon": None}


def register(family: Family, level: str) -> None:
    """Add one task to the environments of the library."""
    name = f"popgym/{family.name}-{level}"
    spec = EnvSpec(
        name=name,
        summary=f"POPGym {family.subset} task: {family.rules}",
        make=partial(wrap.make, family.name, level),
        make_batch=partial(make_batch, family.name, level),
        expert=partial(expert, family, level),
        expert_defaults=EXPERT_DEFAULTS,
        player=partial(player, family, level),
        case=partial(case, family, level),
    )
    ENVS.add(name, spec)


for _family in FAMILIES:
    for _level in LEVELS:
        register(_family, _level)
