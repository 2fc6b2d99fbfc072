"""Players of POPGym's board games: they know how probable a ship or a mine is on every square, and play the best one.
They see what a policy sees, so that a policy can imitate them: observations and the actions before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.spec import Player
from rate.types import Tree

Floats: TypeAlias = NDArray[np.float64]
Covers: TypeAlias = dict[tuple[int, ...], tuple[NDArray[np.float32], Floats]]
"""Sizes of the ships that are still free -> (N, squares) what the other ships occupy, (N,) weights."""

# -------------------------------------------------------------------------------------------------- Battleship


def battleship(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Shoot where a ship is most probable, the first of equals."""
    game: Any = env.unwrapped
    size, ships = int(game.board_size), tuple(sorted(int(ship) for ship in game.ship_sizes))
    hits, misses = set[int](), set[int]()

    def act(observation: Tree, previous: Any) -> int:
        if previous is not None and int(previous) not in hits | misses:  # a shot at the same square says "miss"
            (hits if int(observation) else misses).add(int(previous))
        return _best_shot(size, ships, frozenset(hits), frozenset(misses))

    return act


@lru_cache(maxsize=20_000)
def _best_shot(size: int, ships: tuple[int, ...], hits: frozenset[int], misses: frozenset[int]) -> int:
    """Cached, because most episodes begin with the same misses."""
    density = ship_density(size, ships, hits, misses)
    density[sorted(hits | misses)] = -1.0
    return int(density.round(9).argmax())


def ship_density(size: int, ships: tuple[int, ...], hits: frozenset[int], misses: frozenset[int]) -> Floats:
    """(squares,) the probability of a ship on each square.

    Ships that cover the hits are placed in all possible ways together; the others each for itself, that is, as if
    free ships could overlap each other.
    """
    total, density = 0.0, np.zeros(size * size)
    for free, (occupied, weight) in _covers(size, ships, hits, misses).items():
        expected = occupied.astype(np.float64)
        for ship, times in Counter(free).items():
            places = placements(size, ship)
            places = places[~places[:, sorted(hits | misses)].any(axis=1)]
            fits = (occupied @ places.T == 0).astype(np.float32)
            ways = fits.sum(axis=1, dtype=np.float64)
            expected += times * (fits @ places) / np.maximum(ways, 1.0)[:, None]
            weight = weight * ways**times
        total, density = total + float(weight.sum()), density + weight @ expected
    return density / max(total, 1.0)


def _covers(size: int, ships: tuple[int, ...], hits: frozenset[int], misses: frozenset[int]) -> Covers:
    """Every way to cover all hits, such that each ship in it is needed for the first hit that was not yet covered."""
    todo: Covers = {ships: (np.zeros((1, size * size), np.float32), np.ones(1))}
    done: dict[tuple[int, ...], list[tuple[NDArray[np.float32], Floats]]] = {}
    order = sorted(hits)
    while todo:
        grown: dict[tuple[int, ...], list[tuple[NDArray[np.float32], Floats]]] = {}
        for free, (occupied, weight) in todo.items():
            open_hits = occupied[:, order] == 0
            first = np.where(open_hits.any(axis=1), open_hits.argmax(axis=1), -1) if order else np.full(len(weight), -1)
            if (first < 0).any():
                done.setdefault(free, []).append((occupied[first < 0], weight[first < 0]))
            for at in set(first.tolist()) - {-1}:
                rows = (occupied[first == at], weight[first == at])
                for ship in set(free):
                    rest = tuple(free[: free.index(ship)] + free[free.index(ship) + 1 :])
                    grown.setdefault(rest, []).append(
                        _with(rows, _through(size, ship, order[at], misses), free.count(ship))
                    )
        todo = _joined(grown)
    return _joined(done)


def _with(
    rows: tuple[NDArray[np.float32], Floats], places: NDArray[np.float32], times: int
) -> tuple[NDArray[np.float32], Floats]:
    """The rows, each with one more ship in every place where it fits."""
    occupied, weight = rows
    row, place = (occupied @ places.T == 0).nonzero()
    return occupied[row] + places[place], weight[row] * times


def _joined(parts: Mapping[tuple[int, ...], list[tuple[NDArray[np.float32], Floats]]]) -> Covers:
    joined = {free: tuple(np.concatenate(column) for column in zip(*rows, strict=True)) for free, rows in parts.items()}
    return {free: (occupied, weight) for free, (occupied, weight) in joined.items() if len(weight)}


def _through(size: int, ship: int, square: int, misses: frozenset[int]) -> NDArray[np.float32]:
    """The placements of a ship over a square that touch no miss."""
    places = placements(size, ship)
    return places[(places[:, square] > 0) & ~places[:, sorted(misses)].any(axis=1)]


@lru_cache(maxsize=64)
def placements(size: int, ship: int) -> NDArray[np.float32]:
    """(placements, squares) 1 where the ship lies."""
    boards = []
    for row in range(size):
        for start in range(size - ship + 1):
            board = np.zeros((size, size), np.float32)
            board[row, start : start + ship] = 1
            boards += [board.ravel(), board.T.ravel()]
    return np.array(boards)


# ------------------------------------------------------------------------------------------------- MineSweeper


def minesweeper(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Open the square that is least probably a mine, the first of equals."""
    game: Any = env.unwrapped
    shape, mines = (int(game.dims[0]), int(game.dims[1])), int(game.num_mines)
    counts: dict[int, int] = {}

    def act(observation: Tree, previous: Any) -> int:
        if previous is not None:
            counts[int(previous)] = int(observation)
        return _best_square(shape, mines, tuple(sorted(counts.items())))

    return act


@lru_cache(maxsize=20_000)
def _best_square(shape: tuple[int, int], mines: int, known: tuple[tuple[int, int], ...]) -> int:
    """Cached, because many episodes begin with the same counts."""
    counts = dict(known)
    risk = mine_probability(shape, mines, counts)
    risk[list(counts)] = 2.0
    return int(risk.round(12).argmin())


BITS = 6
"""Of one number of mines in a packed state."""


def mine_probability(shape: tuple[int, int], mines: int, counts: Mapping[int, int]) -> Floats:
    """(squares,) the exact probability of a mine on each square, given the counts of those that were opened.

    Squares with the same opened neighbours are one group. Group by group, the state is how many mines every count
    still misses (packed into one integer); the sums over all states forwards and backwards give the probabilities.
    """
    groups, start = _groups(shape, mines, counts)
    layers: list[dict[int, int]] = [{start: 1}]
    for group in groups:
        layer: dict[int, int] = {}
        for state, ways in layers[-1].items():
            for k in _choices(group, state):
                then = state - k * group.unit
                layer[then] = layer.get(then, 0) + ways * comb(len(group.squares), k)
        layers.append(layer)
    return _backwards(groups, layers, shape[0] * shape[1])


class Group(NamedTuple):
    """Squares that touch the same opened squares: only how many of them are mines matters."""

    squares: list[int]
    unit: int
    """What one mine takes from a packed state."""
    limits: list[tuple[int, int]]
    """Of each count it takes from: its place in the state, and how many squares of later groups may still add to it."""


def _groups(shape: tuple[int, int], mines: int, counts: Mapping[int, int]) -> tuple[list[Group], int]:
    """The groups of the squares that were not opened, and the packed counts; all mines together are count 0."""
    neighbours = neighbourhoods(shape)
    opened = sorted(counts)
    members: dict[tuple[int, ...], list[int]] = {}
    for square in range(shape[0] * shape[1]):
        if square not in counts:
            touched = (0, *(1 + at for at, other in enumerate(opened) if other in neighbours[square]))
            members.setdefault(touched, []).append(square)
    later: Counter[int] = Counter()
    groups: list[Group] = []
    for touched, squares in sorted(members.items(), key=lambda item: (len(item[0]) > 1, -item[1][0])):
        limits = [(at * BITS, later[at]) for at in touched]
        groups.append(Group(squares, sum(1 << at * BITS for at in touched), limits))
        later.update({at: len(squares) for at in touched})
    start = mines + sum(counts[square] << (1 + at) * BITS for at, square in enumerate(opened))
    return groups[::-1], start


def _choices(group: Group, state: int) -> range:
    """How many mines the group can have: no count is exceeded, and later groups can make up for the rest."""
    low, high = 0, len(group.squares)
    for shift, later in group.limits:
        missing = (state >> shift) & ((1 << BITS) - 1)
        low, high = max(low, missing - later), min(high, missing)
    return range(low, high + 1)


def _backwards(groups: list[Group], layers: list[dict[int, int]], squares: int) -> Floats:
    """The probabilities, from the number of ways to come to each state and to go on from it."""
    probability = np.zeros(squares)
    after = dict.fromkeys(layers[-1], 1)
    for group, layer in zip(reversed(groups), reversed(layers[:-1]), strict=True):
        before, mined, size = dict[int, int](), 0, len(group.squares)
        for state, ways in layer.items():
            for k in _choices(group, state):
                then = after.get(state - k * group.unit, 0)
                before[state] = before.get(state, 0) + comb(size, k) * then
                mined += ways * comb(size - 1, k - 1) * then if k else 0
        probability[group.squares] = mined
        after = before
    return probability / sum(after.values())


@lru_cache(maxsize=8)
def neighbourhoods(shape: tuple[int, int]) -> list[frozenset[int]]:
    """The squares that touch each square."""
    rows, columns = shape
    return [
        frozenset(
            r * columns + c
            for r in range(max(row - 1, 0), min(row + 2, rows))
            for c in range(max(column - 1, 0), min(column + 2, columns))
            if (r, c) != (row, column)
        )
        for row in range(rows)
        for column in range(columns)
    ]
