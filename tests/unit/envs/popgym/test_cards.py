"""The players of card games and bandits: perfect where perfection is possible, and true to what was played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("popgym")

from rate.envs.demonstrate import demonstrate, distracted, episode
from rate.envs.popgym import LEVELS, cards
from rate.envs.popgym.grades import err
from rate.envs.popgym.wrap import make
from rate.envs.spec import Player
from rate.types import Tree

PERFECT = {
    "Autoencode": cards.autoencode,
    "CountRecall": cards.count_recall,
    "RepeatFirst": cards.repeat_first,
    "RepeatPrevious": cards.repeat_previous,
}


def mean_return(family: str, level: str, player: Callable[..., Player], episodes: int = 30) -> float:
    return float(np.mean([item.rewards.sum() for item in demonstrate(make(family, level), player, range(episodes))]))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("family", PERFECT)
def test_memory_alone_wins_everything(family: str, level: str) -> None:
    assert mean_return(family, level, PERFECT[family], episodes=2) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("family", PERFECT)
def test_errors_cost_what_they_cost_and_no_more(family: str) -> None:
    """The player goes on correctly after actions that were not its own: half the steps at random, half still right."""
    player = err(PERFECT[family], lambda rng: 0.5)
    chance = {"CountRecall": 1 / 27}.get(family, 0.25)
    right = 0.5 + 0.5 * chance
    assert mean_return(family, "Easy", player) == pytest.approx(2 * right - 1, abs=0.08)


@pytest.mark.parametrize(("level", "least"), [("Easy", 0.78), ("Medium", 0.78), ("Hard", 0.67)])
def test_concentration(level: str, least: float) -> None:
    assert mean_return("Concentration", level, cards.concentration, episodes=20) > least


def test_concentration_never_turns_a_card_that_is_matched() -> None:
    """Also where chance flips some of the cards."""
    flips: list[tuple[int, bool]] = []

    def player(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
        play = cards.concentration(env, rng)

        def act(observation: Tree, previous: Any) -> int:
            card = play(observation, previous)
            flips.append((card, card in env.unwrapped.deck["face_up_idx"]))  # type: ignore[attr-defined]
            return card

        return distracted(act, env.action_space, rng, epsilon=0.3)

    for seed in range(5):
        episode(make("Concentration", "Hard"), player, seed)
    assert len(flips) > 300
    assert not any(matched for _, matched in flips)


def test_higher_lower_counts_cards() -> None:
    """Better than the rule that looks at the card alone, in the same episodes."""

    def by_rank(env: gym.Env[Any, Any], rng: np.random.Generator) -> Player:
        return lambda observation, previous: int(observation > 6)

    counting = mean_return("HigherLower", "Easy", cards.higher_lower, episodes=150)
    assert counting > mean_return("HigherLower", "Easy", by_rank, episodes=150) + 0.01


@pytest.mark.parametrize(("level", "least"), [("Easy", 0.65), ("Medium", 0.75)])
def test_bandit_beats_thompson_sampling(level: str, least: float) -> None:
    """Thompson sampling earns 0.65 and 0.74."""
    assert mean_return("MultiarmedBandit", level, cards.multiarmed_bandit, episodes=40) > least


def test_players_take_no_chances() -> None:
    """What is to be imitated does not depend on the player's random numbers."""
    for family, player in {**PERFECT, "Concentration": cards.concentration}.items():
        env = make(family, "Easy")
        seen, _ = env.reset(seed=0)
        one, other = (player(env, np.random.default_rng(seed)) for seed in (1, 2))
        action, over = None, False
        while not over:
            action, again = one(seen, action), other(seen, action)
            assert action == again
            seen, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
