"""What every backbone promises of tokens, rows and states; the Mlp in particular."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from rate.nn.backbone import Backbone, Mlp
from rate.nn.lstm import Rnn
from rate.nn.ssm import Mamba, Mixer
from rate.types import tree_leaves, tree_map

B, L, D, HIDDEN = 3, 7, 5, 6

BACKBONES: dict[str, Callable[[], Backbone]] = {
    "mlp": lambda: Mlp(D, (HIDDEN, HIDDEN), 0.5),
    "lstm": lambda: Rnn("lstm", D, HIDDEN, 1, 0.5, 1.0),
    "lstm-2": lambda: Rnn("lstm", D, HIDDEN, 2, 0.5, 1.0),
    "gru": lambda: Rnn("gru", D, HIDDEN, 1, 0.5, 1.0),
    "gru-2": lambda: Rnn("gru", D, HIDDEN, 2, 0.5, 1.0),
    "mamba": lambda: Mamba(D, layers=2, mixer=partial(Mixer, state=4, expand=2, conv=3), feed_forward=8, dropout=0.5),
}


@pytest.fixture(params=list(BACKBONES))
def model(request: pytest.FixtureRequest) -> Backbone:
    torch.manual_seed(0)
    return BACKBONES[request.param]().eval()


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(B, L, D)


def some_state(model: Backbone, batch: int = B) -> Any:
    return tree_map(torch.randn_like, model.initial_state(batch))


def close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


def test_steps_are_one_pass(model: Backbone, x: Tensor) -> None:
    state = some_state(model)
    whole, last = model(x, state)
    assert whole.shape == (B, L, model.width)
    for t in range(L):
        out, state = model.step(x[:, t], state)
        close(out, whole[:, t])
    close(tree_leaves(state), tree_leaves(last))


def test_two_parts_are_one_pass(model: Backbone, x: Tensor) -> None:
    start = some_state(model)
    whole, last = model(x, start)
    first, between = model(x[:, :3], start)
    second, after = model(x[:, 3:], between)
    close(torch.cat([first, second], 1), whole)
    close(tree_leaves(after), tree_leaves(last))


def test_the_batch_axis_is_not_the_time_axis(model: Backbone, x: Tensor) -> None:
    other, start = x.clone(), some_state(model)
    other[0] *= -1
    before, after = (model(given, start)[0] for given in (x, other))
    close(after[1:], before[1:])
    assert ((after[0] - before[0]).abs().amax(-1) > 1e-3).all()


def test_later_tokens_change_nothing(model: Backbone, x: Tensor) -> None:
    other, start = x.clone(), some_state(model)
    other[:, 4:] *= -1
    before, after = (model(given, start)[0] for given in (x, other))
    close(after[:, :4], before[:, :4])
    assert ((after[:, 4] - before[:, 4]).abs().amax(-1) > 1e-3).all()


def test_dropout_is_for_training(model: Backbone, x: Tensor) -> None:
    start = model.initial_state(B)
    assert torch.equal(model(x, start)[0], model(x, start)[0])
    model.train()
    assert not torch.equal(model(x, start)[0], model(x, start)[0])


# Mlp.


def test_mlp_is_linear_maps_with_relu(x: Tensor) -> None:
    model = Mlp(D, (4, 9), 0.1).eval()
    first, second = model.layers
    assert model.width == 9 and len(model.layers) == 2
    out, _ = model(x, ())
    close(out, F.relu(second(F.relu(first(x)))))


def test_mlp_carries_nothing(x: Tensor) -> None:
    model = Mlp(D, (HIDDEN,), 0.1).eval()
    assert model.initial_state(B) == ()
    order = torch.randperm(L)
    out, state = model(x, ())
    assert state == ()
    close(model(x[:, order], ())[0], out[:, order])
    assert model.step(x[:, 0], ())[1] == ()


def test_mlp_drops_a_share_of_the_hidden_units() -> None:
    model = Mlp(D, (1000,), 0.3)
    torch.nn.init.ones_(model.layers[0].bias)
    x = torch.zeros(B, L, D)
    assert (model(x, ())[0] == 0).float().mean() == pytest.approx(0.3, abs=0.02)
    assert (model.eval()(x, ())[0] == 1).all()
