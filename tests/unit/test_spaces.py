"""Trees of spaces: every leaf once, in the order of the space, and values of another form refused."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from rate.spaces import branches, leaves, map_space

ONE, TWO, THREE = gym.spaces.Discrete(1), gym.spaces.Discrete(2), gym.spaces.Discrete(3)
TREE = gym.spaces.Dict({"b": gym.spaces.Tuple([ONE, TWO]), "a": THREE})


def test_leaves_in_the_order_of_the_space() -> None:
    assert branches(ONE) is None
    assert list(leaves(ONE)) == [((), ONE)]
    found = dict(leaves(TREE))
    assert found == {("b", 0): ONE, ("b", 1): TWO, ("a",): THREE}
    assert list(found) == [(*path,) for path, _ in leaves(TREE)]
    assert list(branches(TREE) or ()) == list(TREE.spaces)


def test_values_are_mapped_with_their_spaces() -> None:
    value = {"a": 30, "b": [10, 20], "more": 0}
    assert map_space(lambda leaf, part: int(leaf.n) + part, TREE, value) == {"a": 33, "b": (11, 22)}
    assert list(map_space(lambda leaf, part: part, TREE, value)) == list(TREE.spaces)
    assert map_space(lambda leaf: int(leaf.n), TREE) == {"a": 3, "b": (1, 2)}
    assert map_space(lambda leaf, part: part, ONE, 7) == 7


@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "b": [1]}, {"a": 1, "b": [1, 2, 3]}, {"a": 1, "b": 5}, 4, None])
def test_another_form_is_refused(value: Any) -> None:
    with pytest.raises((LookupError, TypeError, ValueError)):
        map_space(lambda leaf, part: part, TREE, value)
