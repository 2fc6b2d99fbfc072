"""Rules of success: read by a grammar, never run."""

from __future__ import annotations

import pytest

from rate.config import EnvConfig
from rate.envs.success import Rule
from rate.errors import ConfigError


@pytest.mark.parametrize(
    "text, episode_return, length, expected",
    [
        ("return >= 1", 1.0, 5, True),
        ("return>=1", 0.99, 5, False),
        (" return > -2.5e1 ", -24.0, 5, True),
        ("return < 0", 0.0, 5, False),
        ("length == 5", 0.0, 5, True),
        ("length <= 4", 9.0, 5, False),
    ],
)
def test_a_rule_compares(text: str, episode_return: float, length: int, expected: bool) -> None:
    assert Rule.read(text)(episode_return, length) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "return",
        "return >= x",
        "return = 1",
        "reward > 1",
        "return > 1 > 0",
        "return > 1e999",
        "return > .",
        "return >= nan",
        "__import__('os').system('true')",
        "return >= 1; print(1)",
        "return >= " + "9" * 10000,
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="return >= 1"):
        Rule.read(text)


def test_a_configuration_checks_its_rule() -> None:
    assert EnvConfig(name="x").rule is None and EnvConfig(name="x", success="length < 3").rule is not None
    with pytest.raises(ConfigError):
        EnvConfig(name="x", success="always")
