"""Heads: losses and densities against PyTorch's, actions that lie in their space."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from gymnasium import spaces as gs
from torch import Tensor
from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution

from rate.errors import ConfigError
from rate.nn.heads import GaussianHead, ValueHead, build_head
from rate.nn.kinds import HeadKind

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


KINDS: list[tuple[str, HeadKind]] = [(name, "imitation") for name in SUPPORTED]
KINDS += [(name, "value") for name in SUPPORTED if name != "box-half"]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_shapes_and_membership(name: str, kind: HeadKind) -> None:
    space, head = SUPPORTED[name], build_head(SUPPORTED[name], kind)
    assert head.size == SIZES[name] * (2 if kind == "value" else 1)
    torch.manual_seed(0)
    prediction, action = 3 * torch.randn(2, 5, head.size), samples(space, 2, 5)
    for measure in (head.loss, head.score):
        assert measure(prediction, action).shape == (2, 5)
        assert measure(prediction, action).isfinite().all()
    for sample in (False, True):
        acted = head.act(prediction[:, 0], sample)
        assert acted.shape == (2, *space.shape)
        for one in head.to_env(acted):
            assert space.contains(np.asarray(one)), one
            assert np.asarray(one).dtype == space.dtype


@pytest.mark.parametrize("name", SUPPORTED)
def test_an_environment_may_change_the_action_that_it_is_given(name: str) -> None:
    head = build_head(SUPPORTED[name])
    acted = head.act(torch.zeros(2, head.size), False)
    kept = acted.clone()
    head.to_env(acted)[...] = 1
    assert torch.equal(acted, kept)


def test_discrete_loss_is_cross_entropy_from_the_start_on() -> None:
    torch.manual_seed(0)
    head, prediction, index = build_head(gs.Discrete(4, start=-3)), torch.randn(2, 5, 4), torch.randint(0, 4, (2, 5))
    expected = F.cross_entropy(prediction.flatten(0, 1), index.flatten(), reduction="none").view(2, 5)
    torch.testing.assert_close(head.loss(prediction, index - 3), expected)
    assert torch.equal(head.score(prediction, index - 3), (prediction.argmax(-1) == index).float())


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
    assert torch.equal(head.score(prediction, action), (best == index).all(-1).float())
    assert torch.equal(head.act(prediction[:, 0], sample=False), best[:, 0] + torch.tensor([1, -1]))


@pytest.mark.parametrize("shape", [(2,), (2, 3), ()])
def test_box_loss_is_the_mean_squared_error(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    head, action = build_head(gs.Box(-1, 1, shape)), torch.randn(2, 5, *shape)
    prediction = torch.randn(2, 5, head.size)
    flat = action.reshape(2, 5, -1)
    torch.testing.assert_close(head.loss(prediction, action), F.mse_loss(prediction, flat, reduction="none").mean(-1))
    error = F.l1_loss(prediction, flat, reduction="none").mean(-1)
    torch.testing.assert_close(head.score(prediction, action), error)
    torch.testing.assert_close(head.score(flat, action), torch.zeros(2, 5))


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


# Value heads.


def value_head(space: gym.Space[Any]) -> ValueHead:
    head = build_head(space, "value")
    assert isinstance(head, ValueHead)
    return head


def gaussian_head(space: gs.Box) -> GaussianHead:
    head = build_head(space, "value")
    assert isinstance(head, GaussianHead)
    return head


def test_joint_values_are_sums_over_components() -> None:
    torch.manual_seed(0)
    head, prediction = value_head(gs.MultiDiscrete([3, 2, 4], start=[1, 0, -2])), torch.randn(5, 18)
    every = torch.tensor([(a + 1, b, c - 2) for a, b, c in itertools.product(range(3), range(2), range(4))])
    joint = head.taken(prediction[:, None].expand(-1, 24, -1), every.expand(5, -1, -1))
    assert joint.shape == (5, 24, 2)
    torch.testing.assert_close(head.log_sum(prediction), joint.logsumexp(1))
    first, second = prediction[0, :9], prediction[0, 9:]  # actions (2, 0, 1): rows 1, 0, 3 of the components
    at = torch.tensor([1, 3 + 0, 5 + 3])
    expected = torch.stack([first[at].sum(), second[at].sum()])
    torch.testing.assert_close(head.taken(prediction[0], torch.tensor([2, 0, 1])), expected)


def test_the_best_joint_action_is_the_best_of_each_component() -> None:
    torch.manual_seed(0)
    head = value_head(gs.MultiDiscrete([3, 2, 4]))
    prediction = torch.randn(6, 9).repeat(1, 2)  # with two equal Q functions, the lesser is either
    every = torch.tensor(list(itertools.product(range(3), range(2), range(4))))
    joint = head.taken(prediction[:, None].expand(-1, 24, -1), every.expand(6, -1, -1))[..., 0]
    assert torch.equal(head.act(prediction, sample=False), every[joint.argmax(1)])


def test_the_lesser_value_is_acted_on() -> None:
    head = value_head(gs.Discrete(3, start=5))
    prediction = torch.tensor([[9.0, 1.0, 2.0, 0.0, 8.0, 1.5]])  # the lesser: 0, 1, 1.5
    assert head.act(prediction, sample=False).tolist() == [7]
    assert head.score(prediction, torch.tensor([7])).tolist() == [1]
    torch.manual_seed(0)
    counts = torch.bincount(head.act(prediction.expand(4000, -1), sample=True) - 5, minlength=3) / 4000
    torch.testing.assert_close(counts, torch.tensor([0.0, 1.0, 1.5]).softmax(0), rtol=0, atol=0.04)


@pytest.mark.parametrize("name", ["discrete-start", "multi", "multi-matrix"])
def test_the_loss_of_values_is_the_cross_entropy_of_both(name: str) -> None:
    torch.manual_seed(0)
    plain, head, action = build_head(SUPPORTED[name]), value_head(SUPPORTED[name]), samples(SUPPORTED[name], 2, 5)
    prediction = torch.randn(2, 5, head.size)
    first, second = prediction.chunk(2, -1)
    torch.testing.assert_close(head.loss(prediction, action), plain.loss(first, action) + plain.loss(second, action))


def test_the_density_is_that_of_torch() -> None:
    torch.manual_seed(0)
    head, prediction = gaussian_head(gs.Box(-1, 1, (2,))), torch.randn(3, 4, 4)
    mean, log_std = prediction.chunk(2, -1)
    normal = TransformedDistribution(Normal(mean, log_std.exp()), [TanhTransform(cache_size=1)])
    spread = Independent(normal, 1)
    action = 1.8 * torch.rand(3, 4, 2) - 0.9
    torch.testing.assert_close(head.loss(prediction, action), -spread.log_prob(action), rtol=1e-4, atol=1e-4)
    drawn, log_prob = head.sample_with_log_prob(prediction, 7)
    assert drawn.shape == (3, 4, 7, 2)
    expected = torch.stack([spread.log_prob(one) for one in drawn.clamp(-0.99999, 0.99999).unbind(2)], 2)
    inside = (drawn.abs() < 0.999).all(-1)
    torch.testing.assert_close(log_prob[inside], expected[inside], rtol=1e-3, atol=1e-3)


def test_the_density_is_one_in_all_and_has_no_units() -> None:
    head, scaled = gaussian_head(gs.Box(-1, 1, (1,))), gaussian_head(gs.Box(-3, 11, (1,)))
    prediction = torch.tensor([0.3, -0.5]).expand(1, 4000, 2)
    grid = (torch.arange(4000) + 0.5)[None, :, None] / 2000 - 1
    losses = head.loss(prediction, grid)
    torch.testing.assert_close((-losses).exp().sum() / 2000, torch.tensor(1.0), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(scaled.loss(prediction, 4 + 7 * grid), losses, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(scaled.to_unit(4 + 7 * grid), grid)


def test_gaussian_actions_lie_around_the_squashed_mean() -> None:
    head = gaussian_head(gs.Box(np.array([0, -2], np.float32), np.array([4, 0], np.float32)))
    prediction = torch.tensor([[0.5, -0.5, -3.0, -3.0]])
    mean = torch.tensor([[2.0, -1.0]]) + torch.tensor([[2.0, 1.0]]) * torch.tensor([[0.5, -0.5]]).tanh()
    torch.testing.assert_close(head.act(prediction, sample=False), mean)
    torch.testing.assert_close(head.score(prediction, mean), torch.zeros(1))
    torch.manual_seed(0)
    drawn = head.act(prediction.expand(4000, -1), sample=True)
    assert drawn.std(0).min() > 0.02
    torch.testing.assert_close(drawn.mean(0), mean[0], rtol=0, atol=0.01)


@pytest.mark.parametrize("size", [-1000.0, 30.0, 1000.0])
def test_extreme_predictions_and_actions_at_the_bounds_stay_finite(size: float) -> None:
    head, prediction = gaussian_head(gs.Box(-1, 1, (1,))), torch.full((1, 2, 2), size, requires_grad=True)
    drawn, log_prob = head.sample_with_log_prob(prediction, 3)
    loss = head.loss(prediction, torch.tensor([[[-1.0], [1.0]]]))
    for values in (drawn, log_prob, loss):
        assert values.isfinite().all()
    (gradient,) = torch.autograd.grad(log_prob.sum() + drawn.sum(), prediction)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("space", [SUPPORTED["box-half"], gs.Box(-np.inf, np.inf, (1,)), gs.Box(1, 1, (1,))])
def test_values_need_bounded_actions(space: gym.Space[Any]) -> None:
    with pytest.raises(ConfigError, match="needs bounded actions"):
        build_head(space, "value")
