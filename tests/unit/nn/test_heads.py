"""Heads: losses against PyTorch's, actions that lie in their space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from gymnasium import spaces as gs
from torch import Tensor

from rate.errors import ConfigError
from rate.nn.heads import build_head

SUPPORTED: dict[str, gym.Space[Any]] = {
    "discrete": gs.Discrete(4),
    "discrete-start": gs.Discrete(4, start=-3),
    "multi": gs.MultiDiscrete([3, 2], start=[1, -1]),
    "multi-matrix": gs.MultiDiscrete([[3, 4], [2, 2]]),
    "multi-int32": gs.MultiDiscrete([3, 2], dtype=np.int32),
    "box": gs.Box(-1, 1, (2,)),
    "box-matrix": gs.Box(-0.5, 2, (2, 3)),
    "box-half": gs.Box(np.array([-1, -np.inf], np.float32), np.array([np.inf, 0.1], np.float32)),
    "box-double": gs.Box(-0.3, 0.7, (1,), np.float64),
    "box-scalar": gs.Box(-1, 1, ()),
}
SIZES = {"discrete": 4, "discrete-start": 4, "multi": 5, "multi-matrix": 11, "multi-int32": 5} | {
    "box": 2, "box-matrix": 6, "box-half": 2, "box-double": 1, "box-scalar": 1
}  # fmt: skip


def samples(space: gym.Space[Any], batch: int, length: int) -> Tensor:
    space.seed(0)
    drawn = np.stack([space.sample() for _ in range(batch * length)])
    return torch.as_tensor(drawn.reshape(batch, length, *space.shape))


@pytest.mark.parametrize("name", SUPPORTED)
def test_shapes_and_membership(name: str) -> None:
    space, head = SUPPORTED[name], build_head(SUPPORTED[name])
    assert head.size == SIZES[name]
    torch.manual_seed(0)
    prediction, action = 3 * torch.randn(2, 5, head.size), samples(space, 2, 5)
    for measure in (head.loss, head.accuracy):
        assert measure(prediction, action).shape == (2, 5)
        assert measure(prediction, action).isfinite().all()
    for sample in (False, True):
        acted = head.act(prediction[:, 0], sample)
        assert acted.shape == (2, *space.shape)
        for one in head.to_env(acted):
            assert space.contains(np.asarray(one)), one
            assert np.asarray(one).dtype == space.dtype


def test_discrete_loss_is_cross_entropy_from_the_start_on() -> None:
    torch.manual_seed(0)
    head, prediction, index = build_head(gs.Discrete(4, start=-3)), torch.randn(2, 5, 4), torch.randint(0, 4, (2, 5))
    expected = F.cross_entropy(prediction.flatten(0, 1), index.flatten(), reduction="none").view(2, 5)
    torch.testing.assert_close(head.loss(prediction, index - 3), expected)
    assert torch.equal(head.accuracy(prediction, index - 3), (prediction.argmax(-1) == index).float())


def test_multi_discrete_loss_is_the_sum_over_components() -> None:
    torch.manual_seed(0)
    head, prediction = build_head(gs.MultiDiscrete([3, 2], start=[1, -1])), torch.randn(2, 5, 5)
    index = torch.stack([torch.randint(0, 3, (2, 5)), torch.randint(0, 2, (2, 5))], -1)
    parts = [
        -torch.log_softmax(logits, -1).gather(-1, index[..., [part]])[..., 0]
        for part, logits in enumerate((prediction[..., :3], prediction[..., 3:]))
    ]
    action = index + torch.tensor([1, -1])
    torch.testing.assert_close(head.loss(prediction, action), parts[0] + parts[1])
    best = torch.stack([prediction[..., :3].argmax(-1), prediction[..., 3:].argmax(-1)], -1)
    assert torch.equal(head.accuracy(prediction, action), (best == index).all(-1).float())
    assert torch.equal(head.act(prediction[:, 0], sample=False), best[:, 0] + torch.tensor([1, -1]))


@pytest.mark.parametrize("shape", [(2,), (2, 3), ()])
def test_box_loss_is_the_mean_squared_error(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    head, action = build_head(gs.Box(-1, 1, shape)), torch.randn(2, 5, *shape)
    prediction = torch.randn(2, 5, head.size)
    flat = action.reshape(2, 5, -1)
    torch.testing.assert_close(head.loss(prediction, action), F.mse_loss(prediction, flat, reduction="none").mean(-1))
    error = F.l1_loss(prediction, flat, reduction="none").mean(-1)
    torch.testing.assert_close(head.accuracy(prediction, action), 1 / (1 + error))
    torch.testing.assert_close(head.accuracy(flat, action), torch.ones(2, 5))


def test_box_actions_are_cut_to_the_bounds() -> None:
    head = build_head(SUPPORTED["box-half"])
    acted = head.act(torch.tensor([[-5.0, 5.0], [5.0, -5.0], [0.5, 0.05]]), sample=False)
    torch.testing.assert_close(acted, torch.tensor([[-1.0, 0.1], [5.0, -5.0], [0.5, 0.05]]))


def test_greedy_is_the_best_and_samples_follow_the_softmax() -> None:
    head = build_head(gs.Discrete(3, start=2))
    prediction = torch.tensor([0.1, 0.6, 0.3]).log().expand(4000, 3)
    assert (head.act(prediction, sample=False) == 3).all()
    torch.manual_seed(0)
    counts = torch.bincount(head.act(prediction, sample=True) - 2, minlength=3) / 4000
    torch.testing.assert_close(counts, torch.tensor([0.1, 0.6, 0.3]), rtol=0, atol=0.04)


@pytest.mark.parametrize(
    "space", [gs.MultiBinary(3), gs.Dict(a=gs.Discrete(2)), gs.Tuple([gs.Discrete(2)]), gs.Text(2)]
)
def test_other_spaces_are_refused(space: gym.Space[Any]) -> None:
    with pytest.raises(ConfigError, match="not supported; use Discrete, MultiDiscrete or Box"):
        build_head(space)
