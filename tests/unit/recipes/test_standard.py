"""The one recipe: what follows from the facts of a task, and that all models get the same of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rate.data.collect import collect
from rate.envs import ENVS
from rate.envs.spec import CollectRequest
from rate.recipes import SUITES
from rate.recipes.standard import Facts, facts_of, model_of, train_of

BIT = Facts(steps=30, fixed=False, open_ended=True, returns_vary=False, numbers=4)


@pytest.mark.parametrize("steps", [2, 5, 30, 51, 103, 210, 311, 831])
def test_windows_hold_the_episode_in_whole_and_in_half_segments(steps: int) -> None:
    facts = replace(BIT, steps=steps)
    train, rate = train_of("rate", facts), model_of("rate", facts)
    assert steps <= train.window < steps + 3 * facts.segment and facts.segment <= 70
    assert train.segment_lens == (facts.window, facts.segment, facts.segment // 2)
    assert all(train.window % length == 0 for length in train.segment_lens)
    rate.check_window(train.window)


def test_a_clock_and_returns_are_given_where_they_mean_something() -> None:
    for model in ("rate", "dt", "bc-lstm"):
        plain, rich = (
            model_of(model, BIT),
            model_of(model, replace(BIT, fixed=True, open_ended=False, returns_vary=True, numbers=104)),
        )
        assert (plain.timesteps, plain.return_to_go, plain.width) == (0, False, 64)
        assert (rich.timesteps, rich.return_to_go, rich.width) == (30, True, 128)
        assert not model_of(model, replace(BIT, fixed=True)).timesteps, "longer episodes will be asked for"


def test_segments_vary_where_memory_must_keep_for_longer_than_a_window() -> None:
    kept, whole = BIT, replace(BIT, open_ended=False)
    assert train_of("rate", kept).segment_lens and model_of("rate", kept).memory_noise
    assert not train_of("rate", whole).segment_lens and not model_of("rate", whole).memory_noise


def test_all_models_are_trained_alike() -> None:
    trained = {replace(train_of(model, BIT), segment_lens=()) for model in ("rate", "dt", "bc-lstm")}
    assert len(trained) == 1


def test_the_suite_names_each_run_once() -> None:
    names = [run.name for run in SUITES.get("learning").runs()]
    assert len(names) == len(set(names)) == 7 * 3 * 3


@pytest.mark.parametrize(
    ("env", "options", "expected"),
    [
        ("tmaze", {"length": 12}, Facts(steps=11, fixed=False, open_ended=False, returns_vary=False, numbers=4)),
        (
            "tmaze",
            {"length": 12, "loss_fraction": 0.5},
            Facts(steps=11, fixed=False, open_ended=False, returns_vary=True, numbers=4),
        ),
        ("aar", {"length": 9}, Facts(steps=9, fixed=True, open_ended=False, returns_vary=False, numbers=3)),
        (
            "minigrid-memory",
            {"size": 11},
            Facts(steps=19, fixed=False, open_ended=False, returns_vary=True, numbers=13),
        ),
    ],
)
def test_the_facts_are_read_off_the_data(env: str, options: dict[str, float], expected: Facts, tmp_path: Path) -> None:
    store = collect(ENVS.get(env), CollectRequest(episodes=60, seed=0, kwargs=options), tmp_path / "data")
    assert facts_of(store, open_ended=False) == expected
    assert facts_of(store, open_ended=True) == replace(expected, open_ended=True)
