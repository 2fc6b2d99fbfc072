"""Tokens from any space: shapes, values, offsets, and the spaces that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs
from torch import Tensor

from rate.errors import ConfigError
from rate.nn.encoders import CategoryEncoder, ImageEncoder, TreeEncoder, VectorEncoder, build_encoder
from rate.nn.tokens import Tokens
from rate.types import Segment, Spaces, Tree, to_tensor, tree_map

WIDTH = 6
SUPPORTED: dict[str, tuple[gym.Space[Any], type]] = {
    "vector": (gs.Box(-1, 1, (4,)), VectorEncoder),
    "double": (gs.Box(-1, 1, (2, 3), np.float64), VectorEncoder),
    "scalar": (gs.Box(0, 9, (), np.int16), VectorEncoder),
    "small-image": (gs.Box(0, 255, (7, 7, 3), np.uint8), VectorEncoder),
    "channels-first": (gs.Box(0, 255, (3, 36, 40), np.uint8), ImageEncoder),
    "channels-last": (gs.Box(0, 255, (40, 36, 1), np.uint8), ImageEncoder),
    "float-image": (gs.Box(0, 1, (3, 36, 36)), VectorEncoder),
    "discrete": (gs.Discrete(5, start=-2), CategoryEncoder),
    "multi": (gs.MultiDiscrete([3, 4], start=[1, -1]), CategoryEncoder),
    "multi-matrix": (gs.MultiDiscrete([[3, 4], [2, 2]]), CategoryEncoder),
    "binary": (gs.MultiBinary([2, 2]), VectorEncoder),
    "dict": (gs.Dict(b=gs.Box(-1, 1, (2,)), a=gs.Tuple([gs.Discrete(3), gs.Box(-1, 1, (1,))])), TreeEncoder),
    "tuple": (gs.Tuple([gs.Discrete(2), gs.Dict(x=gs.MultiBinary(3))]), TreeEncoder),
}


def samples(space: gym.Space[Any], count: int) -> Tree:
    space.seed(0)
    drawn = [space.sample() for _ in range(count)]
    return tree_map(lambda *leaves: torch.stack(leaves), *(to_tensor(as_arrays(one)) for one in drawn))


def as_arrays(tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return {key: as_arrays(part) for key, part in tree.items()}
    return tuple(map(as_arrays, tree)) if isinstance(tree, tuple) else np.asarray(tree)


@pytest.mark.parametrize("name", SUPPORTED)
def test_a_segment_and_a_step_are_encoded_alike(name: str) -> None:
    space, kind = SUPPORTED[name]
    torch.manual_seed(0)
    encoder = build_encoder(space, WIDTH)
    assert isinstance(encoder, kind)
    flat = samples(space, 6)
    segment = tree_map(lambda leaf: leaf.unflatten(0, (2, 3)), flat)
    encoded = encoder(segment)
    assert encoded.shape == (2, 3, WIDTH)
    assert encoded.dtype == torch.float32
    torch.testing.assert_close(encoder(flat), encoded.flatten(0, 1), rtol=1e-5, atol=1e-5)
    assert encoder(flat)[:2].std(0).max() > 1e-4  # two samples, two tokens


@pytest.mark.parametrize("space", [gs.Text(3), gs.Sequence(gs.Discrete(2)), gs.Dict(a=gs.Text(2))])
def test_other_spaces_are_refused(space: gym.Space[Any]) -> None:
    with pytest.raises(ConfigError, match="not supported"):
        build_encoder(space, WIDTH)


def test_categories_are_rows_of_one_table() -> None:
    encoder = CategoryEncoder([3, 4], [1, -1], (2,), WIDTH)
    table = encoder.table.weight
    assert len(table) == 7
    assert torch.equal(encoder(torch.tensor([1, -1])), table[0] + table[3])
    assert torch.equal(encoder(torch.tensor([3, 2])), table[2] + table[6])
    single = CategoryEncoder([3], 5, (), WIDTH)
    assert torch.equal(single(torch.tensor([5, 7])), single.table.weight[[0, 2]])


def test_categories_out_of_range_are_not_silent() -> None:
    with pytest.raises(IndexError):
        CategoryEncoder([3], 5, (), WIDTH)(torch.tensor([4]))


def test_pixels_are_scaled_and_channels_found() -> None:
    torch.manual_seed(0)
    first, last = ImageEncoder((3, 36, 44), WIDTH), ImageEncoder((36, 44, 3), WIDTH)
    last.load_state_dict(first.state_dict())
    image = torch.randint(0, 256, (2, 5, 3, 36, 44), dtype=torch.uint8)
    features = first.convolutions(image.flatten(0, 1) / 255)
    expected = torch.tanh(first.linear(features)).view(2, 5, WIDTH)
    torch.testing.assert_close(first(image), expected)
    torch.testing.assert_close(last(image.movedim(2, -1)), expected, rtol=1e-5, atol=1e-5)


def test_a_tree_is_the_sum_of_its_parts() -> None:
    space = gs.Dict(b=gs.Box(-1, 1, (2,)), a=gs.Discrete(3))
    encoder = build_encoder(space, WIDTH)
    assert isinstance(encoder, TreeEncoder)
    x = {"a": torch.tensor([2]), "b": torch.randn(1, 2)}
    by_key = dict(zip(encoder.keys, encoder.parts, strict=True))
    torch.testing.assert_close(encoder(x), by_key["a"](x["a"]) + by_key["b"](x["b"]))


def segment_of(observation: Tensor, returns: Tensor, action: Tensor) -> Segment:
    batch, length = returns.shape
    return Segment(
        observation=observation,
        action=action,
        return_to_go=returns,
        reward=torch.zeros(batch, length),
        terminated=torch.zeros(batch, length, dtype=torch.bool),
        timestep=torch.arange(length).repeat(batch, 1),
        mask=torch.ones(batch, length, dtype=torch.bool),
    )


def test_places_are_added_and_the_last_row_serves_all_that_are_later() -> None:
    tokens = Tokens(Spaces(observation=gs.Box(-1, 1, (4,)), action=gs.Discrete(3)), WIDTH, 0.0, timesteps=2)
    segment = segment_of(torch.zeros(1, 4, 4), torch.zeros(1, 4), torch.zeros(1, 4, dtype=torch.long))
    assert tokens.timesteps is not None and tokens.returns is not None
    placed = tokens(segment)[0, 0::3] - tokens.returns.bias
    torch.testing.assert_close(placed, tokens.timesteps.weight[[0, 1, 1, 1]])
    late = tokens.prompt(replace(segment.at(3), timestep=10**6))
    torch.testing.assert_close(late[1], tokens(segment)[:, 10])


@pytest.mark.parametrize("action", [gs.Discrete(3, start=1), gs.MultiDiscrete([2, 3]), gs.Box(-1, 1, (2, 2))])
def test_tokens_are_return_observation_action(action: gym.Space[Any]) -> None:
    torch.manual_seed(0)
    tokens = Tokens(Spaces(observation=gs.Box(-1, 1, (4,)), action=action), WIDTH, dropout=0.5).eval()
    observation, returns = torch.randn(2, 3, 4), torch.randn(2, 3)
    acted: Tensor = samples(action, 6).unflatten(0, (2, 3))
    segment = segment_of(observation, returns, acted)
    sequence = tokens(segment)
    assert sequence.shape == (2, 9, WIDTH)
    torch.testing.assert_close(sequence[:, 0::3], tokens.returns(returns[..., None]))
    torch.testing.assert_close(sequence[:, 1::3], tokens.observation(observation))
    torch.testing.assert_close(sequence[:, 2::3], tokens.action(acted, segment.timestep))
    torch.testing.assert_close(torch.stack(tokens.prompt(segment), 2), sequence.unflatten(1, (3, 3))[:, :, :2])
    assert sequence[:, 2::3].abs().max() < 1
