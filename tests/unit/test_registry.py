"""Registries: a name once, and the nearest name for a wrong one."""

from __future__ import annotations

import importlib

import pytest

from rate.errors import RateError, UnknownNameError
from rate.registry import SOURCES, Registry


@pytest.fixture
def pets() -> Registry[int]:
    registry: Registry[int] = Registry("pet")
    registry.add("dog", 1)
    registry.add("canary", 2)
    return registry


def test_get_names_and_membership(pets: Registry[int]) -> None:
    assert pets.get("dog") == 1
    assert pets.names() == list(pets) == ["canary", "dog"]
    assert "dog" in pets and "cat" not in pets and 3 not in pets


def test_decorator(pets: Registry[int]) -> None:
    assert pets.register("newt")(7) == 7
    assert pets.get("newt") == 7


def test_a_name_is_taken_once(pets: Registry[int]) -> None:
    with pytest.raises(ValueError, match="pet 'dog' is registered twice"):
        pets.add("dog", 3)
    assert pets.get("dog") == 1


def test_did_you_mean(pets: Registry[int]) -> None:
    with pytest.raises(UnknownNameError, match="unknown pet 'canari'; did you mean 'canary'"):
        pets.get("canari")


def test_nothing_near(pets: Registry[int]) -> None:
    with pytest.raises(RateError, match="unknown pet 'xylophone'; known: canary, dog"):
        pets.get("xylophone")


@pytest.mark.parametrize("wrong", ["nope", "rate", "tmaze/rat", "popgym", "", "x" * 300])
def test_a_mistake_is_answered_in_a_few_words(wrong: str) -> None:
    recipes: Registry[int] = Registry("recipe", "rate list recipes")
    for env in ("tmaze", *(f"popgym/Task{number}-Easy" for number in range(48))):
        for model in ("rate", "dt", "bc-lstm"):
            recipes.add(f"{env}/{model}", 0)
    with pytest.raises(UnknownNameError) as reason:
        recipes.get(wrong)
    message = str(reason.value).replace(wrong, "", 1) if wrong else str(reason.value)
    assert len(message) < 300 and ("did you mean" in message or "rate list recipes" in message)


def test_several_names_may_be_meant() -> None:
    recipes: Registry[int] = Registry("recipe", "rate list recipes")
    for name in ("aar/rate", "tmaze/rate", "tmaze/dt", "minigrid-memory/bc-lstm"):
        recipes.add(name, 0)
    with pytest.raises(
        UnknownNameError, match=r"did you mean 'tmaze/rate' or 'tmaze/dt'\? rate list recipes shows all"
    ):
        recipes.get("tmaze/rt")


def test_what_is_imported_later() -> None:
    things: Registry[object] = Registry("thing")
    things.later("lock", "rate.training.run_dir:locked", "holds a directory")
    assert things.names() == ["lock"] and things.summary("lock") == "holds a directory"
    assert things.get("lock") is importlib.import_module("rate.training.run_dir").locked
    with pytest.raises(ValueError, match="registered twice"):
        things.add("lock", 1)


def test_modules_that_register_are_known(pets: Registry[int]) -> None:
    pets.add("newt", 1)
    assert __name__ in SOURCES
