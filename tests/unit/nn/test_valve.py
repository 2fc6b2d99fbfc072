"""The Memory Retention Valve against the paper's equation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from rate.errors import UnknownNameError
from rate.nn.memory import ACTIVATIONS, VALVES, CrossAttentionValve


def equation(valve: CrossAttentionValve, incoming: Tensor, written: Tensor, activation: str) -> Tensor:
    """softmax(Q K^T / sqrt(d / heads)) V, the query from the incoming memory, key and value from the written one."""
    width = incoming.shape[-1]
    act = {"relu": lambda x: x.clamp(min=0), "tanh": torch.tanh, "identity": lambda x: x}[activation]
    key_weight, value_weight = valve.key_value.weight.split(width)
    key_bias, value_bias = valve.key_value.bias.split(width)
    split = (valve.heads, width // valve.heads)
    query = (incoming @ valve.query.weight.T + valve.query.bias).unflatten(-1, split)
    key = (act(written) @ key_weight.T + key_bias).unflatten(-1, split)
    value = (act(written) @ value_weight.T + value_bias).unflatten(-1, split)
    weights = torch.einsum("bihd,bjhd->bhij", query, key).div(split[1] ** 0.5).softmax(-1)
    mixed = torch.einsum("bhij,bjhd->bihd", weights, value).flatten(2)
    return mixed @ valve.out.weight.T + valve.out.bias


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("activation", ["relu", "tanh", "identity"])
def test_ca2_is_the_equation(heads: int, activation: str) -> None:
    torch.manual_seed(0)
    valve = VALVES.get("ca2")(8, heads, activation)
    assert isinstance(valve, CrossAttentionValve)
    incoming, written = 3 * torch.randn(2, 2, 5, 8)
    torch.testing.assert_close(valve(incoming, written), equation(valve, incoming, written, activation))
    assert not torch.allclose(valve(written, incoming), valve(incoming, written), atol=1e-2)


def test_ca2_takes_memories_of_two_sizes() -> None:
    valve = VALVES.get("ca2")(8, 2, "relu")
    assert valve(torch.randn(3, 4, 8), torch.randn(3, 6, 8)).shape == (3, 4, 8)


def test_no_valve_is_what_was_written() -> None:
    valve, incoming, written = VALVES.get("none")(8, 1, "relu"), torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    assert valve(incoming, written) is written
    assert not list(valve.parameters())


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown valve 'ca3'; did you mean 'ca2'\?"):
        VALVES.get("ca3")
    with pytest.raises(UnknownNameError, match=r"unknown activation 'zzz'; known: .*relu"):
        ACTIVATIONS.get("zzz")
