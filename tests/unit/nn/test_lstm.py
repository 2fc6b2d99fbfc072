"""How LSTM and GRU start: orthogonal gates, zero biases, and the bias on the gate that keeps."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

from rate.nn.kinds import Cell
from rate.nn.lstm import Rnn

B, L, HIDDEN = 2, 20, 8
GATES: dict[Cell, int] = {"lstm": 4, "gru": 3}

each_cell = pytest.mark.parametrize("cell", list(GATES))


def build(cell: Cell, *, inputs: int = 5, layers: int = 2, dropout: float = 0.0, forget_bias: float = 1.0) -> Rnn:
    torch.manual_seed(0)
    return Rnn(cell, inputs, HIDDEN, layers, dropout, forget_bias).eval()


def tensors(model: Rnn, kind: str) -> list[Tensor]:
    return [parameter.detach() for name, parameter in model.rnn.named_parameters() if name.startswith(kind)]


def run(model: Rnn, x: Tensor, state: Any) -> tuple[Tensor, Any]:
    with torch.no_grad():
        return model(x, state)


# Initialisation.


@each_cell
@pytest.mark.parametrize("inputs", [3, HIDDEN, 2 * HIDDEN])
def test_every_gate_is_orthogonal(cell: Cell, inputs: int) -> None:
    weights = tensors(build(cell, inputs=inputs), "weight")
    assert len(weights) == 4
    for weight in weights:
        for gate in weight.split(HIDDEN):
            rows, columns = gate.shape
            product = gate @ gate.T if rows <= columns else gate.T @ gate
            torch.testing.assert_close(product, torch.eye(min(rows, columns)), rtol=0, atol=1e-5)


@each_cell
def test_gates_differ(cell: Cell) -> None:
    for weight in tensors(build(cell), "weight"):
        gates = weight.split(HIDDEN)
        assert len(gates) == GATES[cell]
        assert not any(torch.allclose(gates[0], gate) for gate in gates[1:])


@each_cell
def test_biases_are_zero_but_for_one_gate(cell: Cell) -> None:
    model = build(cell, forget_bias=1.5)
    expected = torch.zeros(GATES[cell], HIDDEN)
    expected[1] = 1.5
    assert all(torch.equal(bias, expected.flatten()) for bias in tensors(model, "bias_ih"))
    assert not any(bias.any() for bias in tensors(model, "bias_hh"))


# The bias is on the gate that keeps: torch is asked, and not the order of its rows.


@each_cell
@pytest.mark.parametrize("bias", [-2.0, 0.0, 1.0, 8.0])
def test_without_weights_the_state_shrinks_by_the_open_share_of_the_gate(cell: Cell, bias: float) -> None:
    model = build(cell, forget_bias=bias)
    for weight in tensors(model, "weight"):
        weight.zero_()
    start = tuple(torch.randn_like(part) for part in model.initial_state(B))
    _, last = run(model, torch.randn(B, L, 5), start)
    share = 1 / (1 + math.exp(-bias))
    torch.testing.assert_close(last[-1], start[-1] * share**L, rtol=1e-4, atol=1e-7)


@each_cell
def test_a_large_bias_keeps_the_state(cell: Cell) -> None:
    # An LSTM adds less than 1 to its cell at each token; a GRU takes a mean of old and new.
    size, drift = {"lstm": (100.0, float(L)), "gru": (1.0, 1e-3)}[cell]
    x = 0.1 * torch.randn(B, L, 5)
    moved = {}
    for bias in (20.0, 0.0):
        model = build(cell, forget_bias=bias)
        start = model.initial_state(B)
        start[-1].fill_(size)
        _, last = run(model, x, start)
        moved[bias] = float((last[-1] - size).abs().max())
    assert moved[20.0] < drift
    assert moved[0.0] > 0.5 * size


@each_cell
def test_more_bias_remembers_more_of_the_first_token(cell: Cell) -> None:
    reach = []
    for bias in (-2.0, 1.0, 3.0):
        x = torch.zeros(1, L, 5, requires_grad=True)
        model = build(cell, layers=1, forget_bias=bias)
        out, _ = model(x, model.initial_state(1))
        (gradient,) = torch.autograd.grad(out[0, -1].sum(), x)
        reach.append(float(gradient[0, 0].norm()))
    assert 0 < reach[0] < 0.1 * reach[1] < 0.1 * reach[2]


# State.


@each_cell
def test_the_state_is_batch_first_and_starts_at_zero(cell: Cell) -> None:
    model = build(cell, layers=3)
    parts = {"lstm": 2, "gru": 1}[cell]
    start = model.initial_state(B)
    _, after = run(model, torch.randn(B, L, 5), start)
    assert [part.shape for part in start] == [part.shape for part in after] == [(B, 3, HIDDEN)] * parts
    assert not any(part.any() for part in start)


@each_cell
def test_the_output_is_the_state_of_the_top_layer(cell: Cell) -> None:
    model = build(cell)
    out, (hidden, *_) = run(model, torch.randn(B, L, 5), model.initial_state(B))
    torch.testing.assert_close(out[:, -1], hidden[:, -1])


@each_cell
def test_one_layer_with_dropout_is_no_reason_to_warn(cell: Cell) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(cell, layers=1, dropout=0.5)
