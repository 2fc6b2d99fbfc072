"""The one recipe: what follows from the facts of a task, and that all models get the same of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from rate.data.collect import collect
from rate.envs import ENVS
from rate.envs.spec import CollectRequest
from rate.facts import Facts, facts_of
from rate.models import MODELS
from rate.recipes import RECIPES, SUITES, recipe
from rate.recipes.popgym import facts as popgym_facts
from rate.standard import LONGEST_CONTEXT, MOST_WINDOWS, SEEN, standard_model, standard_training
from rate.types import Spaces

BIT = Facts(steps=30, open_ended=True, returns_vary=False, numbers=4)


def chosen(name: str, facts: Facts) -> tuple[Any, Any]:
    model = standard_model(name, facts)
    return model, standard_training(model, facts)


@pytest.mark.parametrize("steps", [2, 5, 30, 51, 103, 210, 311, 831])
def test_windows_hold_the_episode_in_whole_and_in_half_segments(steps: int) -> None:
    facts = replace(BIT, steps=steps)
    model, train = chosen("rate", facts)
    assert steps <= train.window < steps + 3 * facts.segment and facts.segment <= 70
    *longer, acting, shortest = train.segment_lens
    assert longer == [facts.window, facts.window // 2, facts.segment, model.segment_len]
    assert acting == model.segment_len == facts.segment // 2
    assert shortest == acting < 6 or 2 <= shortest <= acting // 3
    assert all(train.window % length == 0 for length in train.segment_lens)
    assert abs(train.batch_size * train.window - SEEN) <= train.window or train.batch_size == MOST_WINDOWS
    model.check_window(train.window)


@pytest.mark.parametrize("name", MODELS.names())
def test_every_model_gets_the_same_of_it(name: str) -> None:
    rich = replace(BIT, steps=300, open_ended=False, returns_vary=True, numbers=104)
    for facts, width in ((BIT, 64), (rich, 128)):
        (model, train), (rate, other) = chosen(name, facts), chosen("rate", facts)
        model.check_window(train.window)
        assert (model.width, model.return_to_go, model.timesteps) == (width, rate.return_to_go, rate.timesteps)
        assert model.previous_action and model.encoder == rate.encoder
        window = LONGEST_CONTEXT if hasattr(model, "context") and facts is rich else other.window
        same = {
            "segment_lens": other.segment_lens,
            "window": window,
            "batch_size": min(MOST_WINDOWS, round(SEEN / window)),
        }
        assert replace(train, segment_lens=other.segment_lens) == replace(other, **same)
        assert bool(train.segment_lens) == bool(facts.open_ended and getattr(model, "memory_tokens", 0))


def test_a_clock_and_returns_are_given_where_they_mean_something() -> None:
    assert (chosen("rate", BIT)[0].timesteps, chosen("rate", BIT)[0].return_to_go) == (0, False)
    closed, _ = chosen("rate", replace(BIT, open_ended=False, returns_vary=True))
    assert (closed.timesteps, closed.return_to_go) == (30, True)


def test_memory_is_made_to_keep_where_episodes_may_be_longer() -> None:
    (kept, trained), (whole, other) = chosen("rate", BIT), chosen("rate", replace(BIT, open_ended=False))
    assert kept.memory_noise and 0 < kept.memory_noise_from < 1 and not whole.memory_noise
    assert trained.segment_lens and not other.segment_lens
    assert {chosen(name, BIT)[1].steps for name in MODELS.names()} == {trained.steps} and trained.steps > other.steps


def test_a_cache_holds_the_segments_before_where_episodes_are_not_longer() -> None:
    whole = replace(BIT, open_ended=False)
    assert chosen("rate", BIT)[0].cache_tokens == chosen("rmt", whole)[0].cache_tokens == 0
    model, train = chosen("rate", whole)
    slots = model.build(Spaces(observation=gym.spaces.Discrete(2), action=gym.spaces.Discrete(2))).slots
    assert slots.cache == slots.segment * (train.window // model.segment_len - 1)


def test_the_suites_name_each_run_once() -> None:
    for name, count in (("learning", 6 * 3 + 6 * 2 + 3 * 2 + 3 * 2 * 2), ("valve-forms", 4 * 6 * 3)):
        names = [run.name for run in SUITES.get(name).runs()]
        assert len(names) == len(set(names)) == count


@pytest.mark.parametrize(
    ("env", "options", "expected"),
    [
        ("tmaze", {"length": 12}, Facts(steps=11, open_ended=True, returns_vary=False, numbers=4)),
        ("tmaze", {"length": 12, "loss_fraction": 0.5}, Facts(steps=11, open_ended=True, returns_vary=True, numbers=4)),
        ("aar", {"length": 9}, Facts(steps=9, open_ended=False, returns_vary=False, numbers=3)),
        (
            "minigrid-memory",
            {"size": 11},
            Facts(steps=19, open_ended=True, returns_vary=True, numbers=13),
        ),
    ],
)
def test_the_facts_are_read_off_the_data(env: str, options: dict[str, float], expected: Facts, tmp_path: Path) -> None:
    store = collect(ENVS.get(env), CollectRequest(episodes=60, seed=0, kwargs=options), tmp_path / "data")
    assert facts_of(store) == expected
    assert facts_of(store, longer=True) == replace(expected, open_ended=True)


FAMILIES = sorted({name.split("/")[1].rpartition("-")[0] for name in RECIPES.names() if name.startswith("popgym/")})


@pytest.mark.parametrize("family", FAMILIES)
def test_the_facts_of_popgym_are_those_of_its_data(family: str, tmp_path: Path) -> None:
    pytest.importorskip("popgym", reason="needs the extra popgym")
    env = f"popgym/{family}-Easy"
    store = collect(ENVS.get(env), CollectRequest(episodes=40, seed=0, kwargs={}), tmp_path / "data")
    found, named = facts_of(store), popgym_facts(env)
    assert (found.open_ended, found.returns_vary) == (named.open_ended, named.returns_vary)
    assert found.steps <= named.steps and (found.numbers > 64) == (named.numbers > 64)
    assert recipe(f"{env}/rate").train.window >= found.steps
