"""Battleship and MineSweeper: the probabilities against brute force, and players that win without seeing the board."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("popgym")

from rate.envs.demonstrate import distracted, episode
from rate.envs.popgym import grids, wrap
from rate.types import Trajectory


def play(family: str, level: str, episodes: int, epsilon: float = 0.0) -> list[Trajectory]:
    env = wrap.make(family, level)
    player: Any = {"Battleship": grids.battleship, "MineSweeper": grids.minesweeper}[family]

    def careless(env: Any, rng: np.random.Generator) -> Any:
        return distracted(player(env, rng), env.action_space, rng, epsilon)

    return [episode(env, careless if epsilon else player, seed) for seed in range(episodes)]


def mean_return(trajectories: list[Trajectory]) -> float:
    return float(np.mean([trajectory.rewards.sum() for trajectory in trajectories]))


# -------------------------------------------------------------------------------------------------- Battleship


def fleets(size: int, ships: tuple[int, ...], hits: set[int], misses: set[int]) -> list[set[int]]:
    """The squares of every fleet that fits what is known."""
    places = [[set(np.flatnonzero(row).tolist()) for row in grids.placements(size, ship)] for ship in ships]
    boards = [set().union(*fleet) for fleet in itertools.product(*places) if _disjoint(fleet)]
    return [board for board in boards if hits <= board and not misses & board]


def _disjoint(fleet: tuple[set[int], ...]) -> bool:
    return sum(map(len, fleet)) == len(set().union(*fleet))


@pytest.mark.parametrize(
    ("ships", "hits", "misses"),
    [
        pytest.param((3,), set(), {5, 6}, id="one ship, no hit"),
        pytest.param((2, 3), {6}, {1}, id="a hit of either ship, one ship stays free"),
        pytest.param((2, 3), {0, 15}, set(), id="a hit of each ship"),
        pytest.param((2, 2), {5, 6}, {4}, id="one ship or two side by side, of the same size"),
        pytest.param((2, 2, 3), {0, 1, 2, 7}, {3}, id="hits in a row that need not be one ship"),
    ],
)
def test_ship_density_is_exact_with_at_most_one_free_ship(
    ships: tuple[int, ...], hits: set[int], misses: set[int]
) -> None:
    boards = fleets(4, ships, hits, misses)
    expected = [np.mean([square in board for board in boards]) for square in range(16)]
    np.testing.assert_allclose(grids.ship_density(4, ships, frozenset(hits), frozenset(misses)), expected, atol=1e-6)


def test_ship_density_is_close_with_free_ships() -> None:
    boards = fleets(5, (2, 3, 3), set(), {12})
    expected = np.array([np.mean([square in board for board in boards]) for square in range(25)])
    density = grids.ship_density(5, (2, 3, 3), frozenset(), frozenset({12}))
    assert np.abs(density - expected).max() < 0.06
    assert np.corrcoef(density, expected)[0, 1] > 0.95


def test_placements_are_all_lines_on_the_board() -> None:
    places = grids.placements(10, 4)
    assert len(places) == len({row.tobytes() for row in places}) == 2 * 10 * 7
    assert (places.sum(axis=1) == 4).all()


@pytest.mark.parametrize(("level", "least"), [("Easy", 0.45), ("Medium", 0.5)])
def test_battleship_beats_every_sweep_of_the_board(level: str, least: float) -> None:
    """Shooting at every square gives 0."""
    trajectories = play("Battleship", level, 6)
    assert mean_return(trajectories) > least
    for trajectory in trajectories:
        assert trajectory.terminations[-1]
        assert len(set(trajectory.actions.tolist())) == len(trajectory.actions), "shot twice at a square"


# ------------------------------------------------------------------------------------------------- MineSweeper


def layouts(shape: tuple[int, int], mines: int, counts: dict[int, int]) -> list[set[int]]:
    neighbours = grids.neighbourhoods(shape)
    every = (set(layout) for layout in itertools.combinations(range(shape[0] * shape[1]), mines))

    def fits(layout: set[int]) -> bool:
        return all(square not in layout and len(neighbours[square] & layout) == n for square, n in counts.items())

    return [layout for layout in every if fits(layout)]


@pytest.mark.parametrize("seed", range(12))
def test_mine_probability_is_exact(seed: int) -> None:
    rng, shape, mines = np.random.default_rng(seed), (3, 5), 4
    squares = rng.permutation(15).tolist()
    hidden, opened = set(squares[:mines]), squares[mines : mines + seed % 8]
    counts = {square: len(grids.neighbourhoods(shape)[square] & hidden) for square in opened}
    possible = layouts(shape, mines, counts)
    expected = [np.mean([square in layout for layout in possible]) for square in range(15)]
    np.testing.assert_allclose(grids.mine_probability(shape, mines, counts), expected, atol=1e-12)


def test_neighbourhoods() -> None:
    neighbours = grids.neighbourhoods((3, 4))
    assert neighbours[0] == {1, 4, 5}
    assert neighbours[5] == {0, 1, 2, 4, 6, 8, 9, 10}
    assert neighbours[11] == {6, 7, 10}


@pytest.mark.parametrize(("level", "least"), [("Easy", 0.55), ("Medium", 0.35), ("Hard", 0.35)])
def test_minesweeper_mostly_wins(level: str, least: float) -> None:
    assert mean_return(play("MineSweeper", level, 40)) > least


# -------------------------------------------------------------------------------------------------------- both


@pytest.mark.parametrize("family", ["Battleship", "MineSweeper"])
def test_players_are_deterministic(family: str) -> None:
    first, second = play(family, "Easy", 3), play(family, "Easy", 3)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)


@pytest.mark.parametrize(("family", "least"), [("Battleship", 0.25), ("MineSweeper", 0.0)])
def test_players_make_use_of_actions_that_were_not_theirs(family: str, least: float) -> None:
    """Random play is at about 0 in Battleship (it shoots twice: below it) and -0.2 in MineSweeper."""
    assert mean_return(play(family, "Easy", 12, epsilon=0.1)) > least


@pytest.mark.parametrize("family", ["Battleship", "MineSweeper"])
def test_players_do_not_look_at_the_board(family: str) -> None:
    """The same answers lead to the same actions, whatever is hidden."""
    player: Any = {"Battleship": grids.battleship, "MineSweeper": grids.minesweeper}[family]
    env = wrap.make(family, "Easy")
    chosen = []
    for seed in (0, 1):
        env.reset(seed=seed)
        act, previous, actions = player(env, np.random.default_rng(seed)), None, []
        for _ in range(4):
            previous = act(np.int64(0), previous)
            actions.append(previous)
        chosen.append(actions)
    assert chosen[0] == chosen[1]
