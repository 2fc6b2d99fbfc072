"""Spaces survive strict JSON exactly."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rate.data.space_json import same_space, space_from_json, space_to_json
from rate.errors import DataError

SPACES: list[gym.Space[Any]] = [
    spaces.Box(-np.inf, np.inf, (3,), np.float32),
    spaces.Box(np.array([-1.1, -np.inf], np.float32), np.array([0.3, 7], np.float32), dtype=np.float32),
    spaces.Box(np.array([[0.1, 1 / 3]]), np.array([[0.2, np.inf]]), dtype=np.float64),
    spaces.Box(0, 255, (8, 8, 3), np.uint8),
    spaces.Box(-(2**62) + 1, 2**62 - 1, (), np.int64),
    spaces.Discrete(7),
    spaces.Discrete(3, start=-4),
    spaces.MultiDiscrete([[2, 3], [4, 5]], start=[[1, 1], [0, -2]], dtype=np.int32),
    spaces.MultiBinary(5),
    spaces.MultiBinary([2, 3]),
    spaces.Text(9, min_length=2, charset="abc"),
    spaces.Dict(OrderedDict(z=spaces.Discrete(2), a=spaces.Tuple([spaces.Box(0, 1, (2,)), spaces.Discrete(3)]))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_round_trip_is_exact(space: gym.Space[Any]) -> None:
    text = json.dumps(space_to_json(space), allow_nan=False)
    back = space_from_json(json.loads(text))
    assert back == space
    assert same_space(back, space)
    assert back.dtype == space.dtype and back.shape == space.shape


def test_bounds_are_bit_for_bit() -> None:
    back = space_from_json(json.loads(json.dumps(space_to_json(SPACES[1]))))
    assert isinstance(back, spaces.Box) and isinstance(SPACES[1], spaces.Box)
    assert back.low.tobytes() == SPACES[1].low.tobytes() and back.high.tobytes() == SPACES[1].high.tobytes()


def test_dict_keeps_the_order_of_its_keys() -> None:
    back = space_from_json(space_to_json(SPACES[-1]))
    assert isinstance(back, spaces.Dict) and list(back.spaces) == ["z", "a"]


def test_equality_is_stricter_than_gymnasium() -> None:
    one, other = spaces.Box(0, 1, (2,), np.float64), spaces.Box(0, 1 + 1e-9, (2,), np.float64)
    assert one == other and not same_space(one, other)
    assert not same_space(spaces.Discrete(3), spaces.Discrete(3, start=1))


def test_equality_does_not_look_at_what_minari_does_not_keep() -> None:
    """The order of keys, and the integer type of classes."""
    eye, door = spaces.Box(0, 1, (2,), np.float32), spaces.MultiDiscrete([2, 3], dtype=np.int32)
    narrow = spaces.Discrete(4)
    narrow.dtype = np.dtype(np.int32)  # older releases of Gymnasium have no argument for it
    one = spaces.Tuple([spaces.Dict(OrderedDict(eye=eye, door=door, at=narrow))])
    wide = spaces.MultiDiscrete([2, 3], dtype=np.int64)
    other = spaces.Tuple([spaces.Dict(OrderedDict(at=spaces.Discrete(4), door=wide, eye=eye))])
    assert same_space(one, other) and same_space(other, one)
    fewer = spaces.Tuple([spaces.Dict(OrderedDict(at=spaces.Discrete(4), door=wide))])
    named = spaces.Tuple([spaces.Dict(OrderedDict(at=spaces.Discrete(4), door=wide, ear=eye))])
    for differs in (fewer, named, spaces.Tuple([]), one[0], spaces.Tuple([one[0], one[0]])):
        assert not same_space(one, differs)
    assert not same_space(wide, spaces.MultiDiscrete([3, 2])) and not same_space(wide, spaces.MultiDiscrete([2, 3, 1]))
    assert not same_space(eye, spaces.Box(0, 1, (2,), np.float64))


def test_image_bounds_stay_short() -> None:
    assert len(json.dumps(space_to_json(spaces.Box(0, 255, (84, 84, 4), np.uint8)))) < 120


def test_unknown_space_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="Graph cannot be stored") as caught:
        space_to_json(spaces.Graph(spaces.Discrete(2), None))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [{}, {"type": "Cone"}, {"type": "Box"}, {"type": "Discrete", "n": -1}, []])
def test_bad_description_is_refused(value: Any) -> None:
    with pytest.raises(DataError, match="not a description"):
        space_from_json(value)
