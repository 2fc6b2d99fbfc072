"""Registries: a name once, and the nearest name for a wrong one."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

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


def test_what_a_module_registers_is_known_before_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "announced.py").write_text(
        "from unit.test_registry import THINGS, Registry\n"
        'OTHERS = Registry("other")\n'
        '@THINGS.register("one")\n@OTHERS.register("two")\nclass One:\n    """The first.\n\n    And more.\n    """\n'
        "class Plain:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(THINGS, "_values", {})
    THINGS.announce("THINGS", "announced")
    assert THINGS.names() == ["one"] and THINGS.summary("one") == "The first."
    assert "announced" not in sys.modules
    one = THINGS.get("one")
    assert one is sys.modules.pop("announced").One and THINGS.summary("one") == "The first."
    with pytest.raises(ValueError, match="registered twice"):
        THINGS.add("one", type("One", (), {}))


THINGS: Registry[Any] = Registry("thing")
