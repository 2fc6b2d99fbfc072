"""Registries: a name once, and the nearest name for a wrong one."""

from __future__ import annotations

import pytest

from rate.errors import RateError, UnknownNameError
from rate.registry import Registry


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
