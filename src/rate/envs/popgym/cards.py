"""Players of POPGym's card games and bandits: perfect memory, and the first of equal choices.
They see what a policy sees, so that a policy can imitate them: observations and the actions before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.spec import Player
from rate.types import Array, Tree

WATCH = 1
"""The mode of Autoencode in which cards are shown."""
SPREADS = 1.5
"""How much hope the bandit player puts into arms it knows little of: the best of 0.25 to 2.5."""


def autoencode(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Stack the cards and recite them from the top; while watching, name the card that is shown."""
    stack: list[int] = []
    reciting = False

    def act(observation: Tree, previous: Any) -> int:
        nonlocal reciting
        mode, card = int(observation[0]), int(observation[1])
        if not reciting:  # the last card is shown together with the order to recite
            stack.append(card)
        reciting = mode != WATCH
        return stack.pop() if reciting else card

    return act


def concentration(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Remember every card that was turned; flip a known pair if there is one, else the first card not yet seen."""
    known: dict[int, int] = {}
    matched: set[int] = set()
    hand: list[int] = []

    def act(observation: Array, previous: Any) -> int:
        if previous is not None:
            known[int(previous)] = int(observation[previous])
            _settle(int(previous), hand, matched, known)
        free = [card for card in known if card not in matched]
        unseen = next((card for card in range(len(observation)) if card not in known), None)
        if hand:
            mates = [card for card in free if card not in hand and known[card] == known[hand[0]]]
            return _first(mates, unseen)
        return _first(_paired(free, known), unseen)

    return act


def _settle(flipped: int, hand: list[int], matched: set[int], known: dict[int, int]) -> None:
    """What a flip does to the pair in hand; both lists change in place."""
    hand.append(flipped)
    if flipped in matched:
        hand.clear()
    elif len(hand) == 2:
        if hand[0] != hand[1] and known[hand[0]] == known[hand[1]]:
            matched.update(hand)
        hand.clear()


def _paired(cards: Iterable[int], known: dict[int, int]) -> list[int]:
    """The cards of which another one is known."""
    values = [known[card] for card in cards]
    return [card for card in cards if values.count(known[card]) > 1]


def _first(wanted: Iterable[int], otherwise: int | None) -> int:
    """The lowest of the wanted cards; without any the other one; without that, any card (a card flipped by chance)."""
    return min(wanted, default=0 if otherwise is None else otherwise)


def count_recall(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Count what is dealt, the card on the table included."""
    counts: dict[int, int] = {}

    def act(observation: Array, previous: Any) -> int:
        dealt, asked = int(observation[0]), int(observation[1])
        counts[dealt] = counts.get(dealt, 0) + 1
        return counts.get(asked, 0)

    return act


def higher_lower(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Count the cards that are left and bet on the larger side; higher if both are equal."""
    left = np.full(13, 4 * env.unwrapped.num_decks)  # type: ignore[attr-defined]

    def act(observation: Tree, previous: Any) -> int:
        rank = int(observation)
        left[rank] -= 1
        return int(left[rank + 1 :].sum() < left[:rank].sum())

    return act


def multiarmed_bandit(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """The arm whose mean plus SPREADS standard deviations is highest, by its posterior under a uniform prior.

    Without chance, so that it can be imitated; it also earns more than Thompson sampling (0.65, 0.74, 0.78).
    """
    arms = env.action_space.n  # type: ignore[attr-defined]
    paid, failed = np.ones(arms), np.ones(arms)

    def act(observation: Tree, previous: Any) -> int:
        if previous is not None:
            (paid if observation else failed)[int(previous)] += 1
        pulls = paid + failed
        mean = paid / pulls
        return int((mean + SPREADS * np.sqrt(mean * (1 - mean) / (pulls + 1))).argmax())

    return act


def repeat_first(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """Remember the first card."""
    first: list[int] = []

    def act(observation: Tree, previous: Any) -> int:
        if previous is None:
            first.append(int(observation))
        return first[0]

    return act


def repeat_previous(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
    """A queue of k cards; the oldest is the answer, also before the queue is full, when no answer counts."""
    queue: deque[int] = deque(maxlen=env.unwrapped.k)  # type: ignore[attr-defined]

    def act(observation: Tree, previous: Any) -> int:
        queue.append(int(observation))
        return queue[0]

    return act
