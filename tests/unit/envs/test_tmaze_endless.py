"""Endless T-Maze: new clues, void ones, prefixes, and what is earned. The contracts of all environments are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rate.envs.spec import CollectRequest
from rate.envs.tmaze_endless import Chain, TMazeEndlessBatch, TMazeEndlessEnv, case, expert, player, success
from rate.envs.tmaze_env import CLUE, FLAG, RIGHT
from rate.errors import ConfigError
from rate.types import Trajectory


def episodes(count: int = 50, **options: Any) -> list[Trajectory]:
    return list(expert(CollectRequest(episodes=count, seed=0, kwargs=options)))


def test_each_corridor_begins_with_its_clue_and_ends_with_its_turn() -> None:
    for item in episodes(corridors=4, length=9):
        clues, turns = np.flatnonzero(item.observations[:, CLUE]), np.flatnonzero(item.actions != RIGHT)
        assert len(clues) == len(turns) == 4 and clues.tolist() == [0, *(turns[:-1] + 1)]
        assert ((item.actions[turns] == 1) == (item.observations[clues, CLUE] > 0)).all()
        assert (np.diff([0, *turns + 1]) <= 8).all() and item.observations[turns, FLAG].all()
        assert success(float(item.rewards.sum()))


def test_clues_are_fair_and_do_not_follow_each_other() -> None:
    cells, clues = Chain(corridors=4, length=9).draw(np.arange(4000))
    assert set(np.unique(cells)) == set(range(1, 8))
    assert abs(np.corrcoef(clues.T) - np.eye(4)).max() < 0.06 and abs(clues.mean(0)).max() < 0.06


def test_more_corridors_continue_an_episode() -> None:
    for few, many in zip(episodes(5, corridors=2), episodes(5, corridors=5), strict=True):
        assert (many.observations[: len(few)] == few.observations[:-1]).all()
        assert (many.actions[: len(few)] == few.actions).all()


def test_a_wrong_turn_earns_nothing_and_leads_on() -> None:
    (item,) = episodes(1, corridors=3, length=9)
    first = int(np.flatnonzero(item.actions != RIGHT)[0])
    actions = item.actions.copy()
    actions[first] = 4 - actions[first]
    batch = TMazeEndlessBatch(corridors=3, length=9)
    batch.reset(np.array([item.seed]))
    answers = [batch.step(np.array([action])) for action in actions]
    assert sum(float(answer.reward[0]) for answer in answers) == pytest.approx(2 / 3)
    assert answers[-1].terminated[0] and not success(2 / 3)


def test_who_does_not_turn_is_cut_off() -> None:
    env = TMazeEndlessEnv(corridors=2, length=5, lengths="exact")
    env.reset(seed=3)
    ends = [env.step(np.int64(RIGHT))[2:4] for _ in range(10)]
    assert ends == [(False, False)] * 9 + [(False, True)]


def test_the_player_sees_what_a_policy_sees() -> None:
    env = TMazeEndlessEnv(corridors=5, length=9)
    act = player(env, np.random.default_rng(0))
    observation, previous, total, over = env.reset(seed=5)[0], None, 0.0, False
    while not over:
        previous = act(observation, previous)
        observation, reward, terminated, truncated, _ = env.step(np.int64(previous))
        total, over = total + reward, terminated or truncated
    assert success(total)


@pytest.mark.parametrize("options", [{"corridors": 0}, {"corridors": 1.5}, {"length": 2}, {"lengths": "odd"}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="tmaze"):
        case(**options)
