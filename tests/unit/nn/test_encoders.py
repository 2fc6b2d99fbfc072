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

from rate.errors import ConfigError, RateError
from rate.nn.encoders import (
    EARLIER,
    ENCODERS,
    CategoryEncoder,
    Encoder,
    EncoderConfig,
    TreeEncoder,
    VectorEncoder,
    build_encoder,
)
from rate.nn.image_encoders import DeepImageEncoder, ImageEncoder, NatureEncoder, SmallImageEncoder
from rate.nn.tokens import Tokens, TokensConfig
from rate.types import Segment, Spaces, Tree, to_tensor, tree_map

WIDTH = 6
SUPPORTED: dict[str, tuple[gym.Space[Any], type]] = {
    "vector": (gs.Box(-1, 1, (4,)), VectorEncoder),
    "double": (gs.Box(-1, 1, (2, 3), np.float64), VectorEncoder),
    "scalar": (gs.Box(0, 9, (), np.int16), VectorEncoder),
    "table": (gs.Box(0, 255, (4, 7, 7), np.uint8), SmallImageEncoder),
    "small-image": (gs.Box(0, 255, (7, 7, 3), np.uint8), SmallImageEncoder),
    "one-hot-grid": (gs.MultiBinary((7, 7, 20)), SmallImageEncoder),
    "channels-first": (gs.Box(0, 255, (3, 36, 40), np.uint8), NatureEncoder),
    "channels-last": (gs.Box(0, 255, (40, 36, 1), np.uint8), NatureEncoder),
    "float-image": (gs.Box(0, 1, (3, 36, 36)), NatureEncoder),
    "unbounded-image": (gs.Box(-np.inf, np.inf, (16, 16, 3)), SmallImageEncoder),
    "grey": (gs.Box(0, 255, (36, 36), np.uint8), NatureEncoder),
    "frames": (gs.Box(0, 255, (4, 36, 40, 1), np.uint8), NatureEncoder),
    "frames-last": (gs.Box(0, 255, (16, 12, 3, 2), np.uint8), SmallImageEncoder),
    "rows-of-objects": (gs.Box(-1, 1, (3, 9, 4)), VectorEncoder),
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
    encoder = CategoryEncoder(gs.MultiDiscrete([3, 4], start=[1, -1]), WIDTH, EARLIER)
    table = encoder.table.weight
    assert len(table) == 7
    assert torch.equal(encoder(torch.tensor([1, -1])), table[0] + table[3])
    assert torch.equal(encoder(torch.tensor([3, 2])), table[2] + table[6])
    single = CategoryEncoder(gs.Discrete(3, start=5), WIDTH, EncoderConfig())
    assert torch.equal(single(torch.tensor([5, 7])), single.table.weight[[0, 2]])


def test_categories_out_of_range_are_not_silent() -> None:
    with pytest.raises(IndexError):
        CategoryEncoder(gs.Discrete(3, start=5), WIDTH, EncoderConfig())(torch.tensor([4]))


@pytest.mark.parametrize("kind", [NatureEncoder, SmallImageEncoder, DeepImageEncoder])
def test_pixels_are_scaled_and_channels_found(kind: type[ImageEncoder]) -> None:
    torch.manual_seed(0)
    shapes = {"first": (6, 36, 44), "last": (36, 44, 6), "frames": (3, 36, 44, 2), "frames-last": (36, 44, 2, 3)}
    plain = EncoderConfig(normalise="off")
    built = {name: kind(gs.Box(0, 255, shape, np.uint8), WIDTH, plain) for name, shape in shapes.items()}
    first = built["first"]
    image = torch.randint(0, 256, (2, 5, 6, 36, 44), dtype=torch.uint8)
    stack = image.unflatten(2, (3, 2))  # frames, channels, height, width
    same = {"first": image, "last": image.movedim(2, -1), "frames": stack.movedim(3, -1)}
    same["frames-last"] = stack.movedim(3, -1).movedim(2, -1)
    expected = torch.tanh(first.linear(first.convolutions(image.flatten(0, 1) / 255))).view(2, 5, WIDTH)
    for name, encoder in built.items():
        encoder.load_state_dict(first.state_dict())
        torch.testing.assert_close(encoder(same[name]), expected, rtol=1e-5, atol=1e-5)
    halves = kind(gs.Box(-1, 1, (6, 36, 44)), WIDTH, plain)
    halves.load_state_dict(first.state_dict())
    torch.testing.assert_close(halves(image / 127.5 - 1), expected, rtol=1e-4, atol=1e-4)


def test_the_named_encoder_serves_its_parts_and_the_others_keep_their_own() -> None:
    space = gs.Dict(eye=gs.Box(0, 255, (16, 16, 3), np.uint8), place=gs.Box(-1, 1, (2,)), card=gs.Discrete(3))
    encoder = build_encoder(space, WIDTH, EncoderConfig(name="image-deep", channels=(4, 8)))
    assert isinstance(encoder, TreeEncoder)
    kinds = {key: type(part) for key, part in zip(encoder.keys, encoder.parts, strict=True)}
    assert kinds == {"eye": DeepImageEncoder, "place": VectorEncoder, "card": CategoryEncoder}
    eye = dict(zip(encoder.keys, encoder.parts, strict=True))["eye"]
    assert isinstance(eye, ImageEncoder) and eye.linear.in_features == 8 * 4 * 4
    flat = build_encoder(space, WIDTH, EncoderConfig(name="vector"))
    assert isinstance(flat, TreeEncoder) and not any(isinstance(part, ImageEncoder) for part in flat.modules())


@pytest.mark.parametrize(
    ("space", "fields", "reason"),
    [
        (gs.Box(-1, 1, (4,)), {"name": "image"}, "serves no part"),
        (gs.Box(0, 255, (16, 16, 3), np.uint8), {"name": "image"}, "16 x 16 pixels are too small"),
        (gs.Box(0, 255, (36, 36, 3), np.uint8), {"channels": (8, 8)}, "three convolutions"),
        (gs.Box(-1, 1, (4, 64, 64, 3, 1)), {}, "49152 inputs"),
        (gs.Box(-1, 1, (100, 50)), {}, "5000 inputs"),
        (gs.Box(-1, 1, (4,)), {"name": "imag"}, "did you mean 'image'"),
        (gs.Box(-1, 1, (4,)), {"channels": (8, 0)}, "at least 1"),
        (gs.Box(-1, 1, (4,)), {"padding": -1}, "at least 0"),
        (gs.Box(-1, 1, (4,)), {"scale": "mean"}, "like or data or sum"),
    ],
)
def test_what_cannot_be_encoded_is_refused_in_one_line(space: gym.Space[Any], fields: Any, reason: str) -> None:
    with pytest.raises(RateError, match=reason) as message:
        build_encoder(space, WIDTH, EncoderConfig(**fields))
    assert "\n" not in str(message.value)


def test_padding_is_the_papers() -> None:
    space = gs.Box(0, 255, (64, 64, 3), np.uint8)
    sizes = [build_encoder(space, WIDTH, EncoderConfig(padding=padding)).linear.in_features for padding in (0, 2)]
    assert sizes == [64 * 4 * 4, 64 * 11 * 11]


def test_classic_convolves_large_images_of_bytes_alone() -> None:
    kinds = {name: type(build_encoder(space, WIDTH, EARLIER)) for name, (space, _) in SUPPORTED.items()}
    convolved = {name for name, kind in kinds.items() if issubclass(kind, ImageEncoder)}
    assert convolved == {"channels-first", "channels-last"}


@pytest.mark.parametrize("name", [name for name in ENCODERS.names() if name.startswith("image")])
@pytest.mark.parametrize("shape", [(7, 7, 3), (3, 64, 112)])
def test_tokens_of_images_start_as_large_as_those_of_returns(name: str, shape: tuple[int, ...]) -> None:
    if name == "image" and min(shape[:2]) == 7:
        return
    torch.manual_seed(0)
    encoder = build_encoder(gs.Box(0, 255, shape, np.uint8), 64, EncoderConfig(name=name))
    noise = torch.randint(0, 256, (16, *shape), dtype=torch.uint8)
    few = torch.where(torch.rand(16, *shape) < 0.1, 255, 0)
    for image in (noise, few):
        assert 0.2 < encoder(image).square().mean().sqrt() < 1.8  # Linear(1, D) has 0.58 to 0.82


def test_an_encoder_of_ones_own_is_named_like_any_other() -> None:
    class Corner(Encoder):
        """Of a whole dict: one pixel of it."""

        @staticmethod
        def serves(space: gym.Space[Any]) -> bool:
            return isinstance(space, gs.Dict)

        def __init__(self, space: Any, width: int, config: EncoderConfig) -> None:
            super().__init__(space, width, config)
            self.linear = torch.nn.Linear(1, width)

        def forward(self, x: Tree) -> Tensor:
            return self.linear(x["eye"][..., 0, 0, :1].float())

    ENCODERS.add("corner", Corner)
    try:
        space = gs.Dict(eye=gs.Box(0, 255, (16, 16, 3), np.uint8))
        assert isinstance(build_encoder(space, WIDTH, EncoderConfig(name="corner")), Corner)
    finally:
        del ENCODERS._values["corner"]


def test_a_tree_is_the_sum_of_its_parts() -> None:
    space = gs.Dict(b=gs.Box(-1, 1, (2,)), a=gs.Discrete(3))
    x = {"a": torch.tensor([2]), "b": torch.randn(1, 2)}
    for config, share in ((EARLIER, 1.0), (EncoderConfig(), 0.5**0.5)):
        encoder = build_encoder(space, WIDTH, config)
        assert isinstance(encoder, TreeEncoder)
        by_key = dict(zip(encoder.keys, encoder.parts, strict=True))
        torch.testing.assert_close(encoder(x), share * (by_key["a"](x["a"]) + by_key["b"](x["b"])))


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
    tokens = Tokens(
        Spaces(observation=gs.Box(-1, 1, (4,)), action=gs.Discrete(3)),
        TokensConfig(width=WIDTH, dropout=0.0, timesteps=2),
    )
    segment = segment_of(torch.zeros(1, 4, 4), torch.zeros(1, 4), torch.zeros(1, 4, dtype=torch.long))
    assert tokens.timesteps is not None and tokens.returns is not None
    placed = tokens(segment)[0, 0::3] - tokens.returns.bias
    torch.testing.assert_close(placed, tokens.timesteps.weight[[0, 1, 1, 1]])
    late = tokens.prompt(replace(segment.at(3), timestep=10**6))
    torch.testing.assert_close(late[1], tokens(segment)[:, 10])


@pytest.mark.parametrize("action", [gs.Discrete(3, start=1), gs.MultiDiscrete([2, 3]), gs.Box(-1, 1, (2, 2))])
def test_tokens_are_return_observation_action(action: gym.Space[Any]) -> None:
    torch.manual_seed(0)
    tokens = Tokens(
        Spaces(observation=gs.Box(-1, 1, (4,)), action=action), TokensConfig(width=WIDTH, dropout=0.5)
    ).eval()
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


def test_a_sinusoidal_clock_tells_every_step_apart_and_goes_on() -> None:
    config = TokensConfig(width=WIDTH, dropout=0.0, timesteps=50, clock="sinusoidal")
    tokens = Tokens(Spaces(observation=gs.Box(-1, 1, (4,)), action=gs.Discrete(3)), config)
    assert tokens.timesteps is not None and not list(tokens.timesteps.parameters())
    rows = tokens.timesteps(torch.arange(200))
    assert rows.shape == (200, WIDTH) and rows.abs().max() <= 1
    assert torch.cdist(rows, rows).fill_diagonal_(1).min() > 1e-2
