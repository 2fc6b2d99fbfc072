"""Images to look at: the pixels that a policy is given, whatever their layout."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from rate.images import first_image

RGB = np.random.default_rng(0).integers(0, 256, (12, 20, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("image", "seen"),
    [
        (RGB, RGB),
        (RGB.transpose(2, 0, 1), RGB),
        (np.stack([255 - RGB, RGB]), RGB),  # frames first: the newest is the last
        (np.stack([255 - RGB, RGB], axis=-1), RGB),
        (np.concatenate([255 - RGB, RGB], axis=2), RGB),
        (RGB[..., 0], RGB[..., [0, 0, 0]]),
        (np.stack([RGB[..., 1]] * 3 + [RGB[..., 0]]), RGB[..., [0, 0, 0]]),  # four grey frames
    ],
)
def test_the_newest_frame_is_seen(image: np.ndarray, seen: np.ndarray) -> None:
    found = first_image(gym.spaces.Box(0, 255, image.shape, np.uint8), image)
    np.testing.assert_array_equal(found, seen)


def test_numbers_become_pixels_by_their_bounds() -> None:
    space = gym.spaces.Box(-1, 1, (3, 8, 8), np.float32)
    for value, pixel in ((-1, 0), (0, 128), (1, 255)):
        found = first_image(space, np.full((3, 8, 8), value, np.float32))
        assert found is not None and (found == pixel).all()


def test_codes_can_be_told_apart() -> None:
    image = np.zeros((7, 7, 3), np.uint8)
    image[0], image[1, :, 0] = 10, 5
    found = first_image(gym.spaces.Box(0, 255, (7, 7, 3), np.uint8), image)
    assert found is not None and found[0, 0].tolist() == [255] * 3 and found[1, 0].tolist() == [128, 0, 0]
    black = first_image(gym.spaces.Box(0, 255, (7, 7, 3), np.uint8), 0 * image)
    assert black is not None and not black.any()


def test_the_image_is_found_among_other_parts() -> None:
    box = gym.spaces.Box(0, 255, RGB.shape, np.uint8)
    space = gym.spaces.Dict({"a": gym.spaces.Discrete(3), "b": gym.spaces.Tuple([gym.spaces.Box(-1, 1, (4,)), box])})
    np.testing.assert_array_equal(first_image(space, {"a": 1, "b": (np.zeros(4), RGB)}), RGB)
    assert first_image(gym.spaces.Box(-1, 1, (4,)), np.zeros(4)) is None
