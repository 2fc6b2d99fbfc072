"""Memory Retention Valves against their formulas, written out in a few lines each."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from rate.errors import UnknownNameError
from rate.nn.gate import Gate
from rate.nn.memory import ACTIVATIONS, VALVES, CrossAttentionValve, GateValve, GruValve, LstmValve, Valve, ValveConfig

WIDTH = 8


def make(name: str, **fields: Any) -> Valve:
    torch.manual_seed(0)
    return VALVES.get(name)(ValveConfig(width=WIDTH, **fields))


def memories(count: int = 2, rows: int = 5) -> tuple[Tensor, ...]:
    torch.manual_seed(1)
    return tuple(3 * torch.randn(count, 2, rows, WIDTH))


def no_cell(valve: Valve, rows: int = 5) -> Tensor:
    return torch.zeros(2, rows, valve.extra)


def kept_by(valve: Valve, incoming: Tensor, written: Tensor) -> Tensor:
    kept, cell = valve(incoming, written, no_cell(valve, incoming.shape[1]))
    assert kept.shape == incoming.shape and cell.shape[-1] == valve.extra
    return kept


def attention(valve: CrossAttentionValve, asking: Tensor, answering: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(d / heads)) V W_M."""
    key_weight, value_weight = valve.key_value.weight.split(WIDTH)
    key_bias, value_bias = valve.key_value.bias.split(WIDTH)
    split = (valve.heads, WIDTH // valve.heads)
    query = (asking @ valve.query.weight.T + valve.query.bias).unflatten(-1, split)
    key = (answering @ key_weight.T + key_bias).unflatten(-1, split)
    value = (answering @ value_weight.T + value_bias).unflatten(-1, split)
    weights = torch.einsum("bihd,bjhd->bhij", query, key).div(split[1] ** 0.5).softmax(-1)
    mixed = torch.einsum("bhij,bjhd->bihd", weights, value).flatten(2)
    return mixed @ valve.out.weight.T + valve.out.bias


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("activation", ["relu", "tanh", "identity"])
def test_cross_attention_is_the_equation(heads: int, activation: str) -> None:
    act = {"relu": lambda x: x.clamp(min=0), "tanh": torch.tanh, "identity": lambda x: x}[activation]
    incoming, written = memories()
    ca1, ca2 = (make(name, heads=heads, activation=activation) for name in ("ca1", "ca2"))
    assert isinstance(ca1, CrossAttentionValve) and isinstance(ca2, CrossAttentionValve)
    torch.testing.assert_close(kept_by(ca1, incoming, written), attention(ca1, act(written), incoming))
    torch.testing.assert_close(kept_by(ca2, incoming, written), attention(ca2, incoming, act(written)))


def test_the_feed_forward_network_stands_behind_the_attention() -> None:
    plain, full = make("ca2"), make("ca2", feed_forward=12)
    incoming, written = memories()
    first, _, second = full.feed_forward
    inner = torch.nn.functional.gelu(kept_by(plain, incoming, written) @ first.weight.T + first.bias)
    assert first.weight.shape == (12, WIDTH)
    torch.testing.assert_close(kept_by(full, incoming, written), inner @ second.weight.T + second.bias)


def test_ca1_makes_rows_alike_and_ca2_brings_in_what_was_written() -> None:
    """Why ca1 cannot store: its rows are mixes of its own rows, whatever the segment wrote."""
    ca1, ca2 = make("ca1"), make("ca2")
    (start,) = memories(1)
    for valve, alike in ((ca1, True), (ca2, False)):
        memory = start
        for _ in range(20):
            memory = kept_by(valve, memory, 3 * torch.randn(2, 5, WIDTH))
        between_episodes = (memory[0] - memory[1]).norm() / memory.norm()
        assert bool(between_episodes < 1e-4) is alike


def gate_formula(gate: Gate, old: Tensor, new: Tensor) -> Tensor:
    (w_r, w_z), (u_r, u_z) = gate.gates_old.weight.split(WIDTH), gate.gates_new.weight.split(WIDTH)
    w_g, u_g = gate.candidate_old.weight, gate.candidate_new.weight
    r = torch.sigmoid(old @ w_r.T + new @ u_r.T)
    z = torch.sigmoid(old @ w_z.T + new @ u_z.T - gate.bias)
    reset = (r * old, new) if gate.resets == "old" else (old, r * new)
    h = torch.tanh(reset[0] @ w_g.T + reset[1] @ u_g.T)
    return (1 - z) * old + z * h


def test_the_gate_of_the_valve_resets_the_written_memory_and_that_of_gtrxl_the_stream() -> None:
    incoming, written = memories()
    valve = make("gate")
    assert isinstance(valve, GateValve) and valve.gate.resets == "new"
    torch.testing.assert_close(kept_by(valve, incoming, written), gate_formula(valve.gate, incoming, written))
    gate = Gate(WIDTH, resets="old")
    torch.testing.assert_close(gate(incoming, written), gate_formula(gate, incoming, written))
    assert not torch.allclose(gate(incoming, written), gate_formula(valve.gate, incoming, written), atol=1e-2)


def test_gates_start_by_keeping_and_keep_all_with_a_large_bias() -> None:
    incoming, written = memories()
    for name in ("gate", "gru"):
        valve = make(name)
        bias = valve.gate.bias if isinstance(valve, GateValve) else valve.cell.bias_ih[WIDTH : 2 * WIDTH]
        assert (bias == 2).all()
        changes = []
        for value in (2.0, 0.0, 60.0):
            with torch.no_grad():
                bias.fill_(value)
                changes.append(float((kept_by(valve, incoming, written) - incoming).norm() / incoming.norm()))
        assert changes[2] < 1e-6 < changes[0] < 0.7 * changes[1]


def test_gru_is_the_cell() -> None:
    valve = make("gru")
    assert isinstance(valve, GruValve)
    incoming, written = memories()
    given, hidden = valve.cell.weight_ih, valve.cell.weight_hh
    r_in, z_in, h_in = (written @ given.T + valve.cell.bias_ih).chunk(3, -1)
    r_old, z_old, h_old = (incoming @ hidden.T + valve.cell.bias_hh).chunk(3, -1)
    keep = torch.sigmoid(z_in + z_old)
    h = torch.tanh(h_in + torch.sigmoid(r_in + r_old) * h_old)
    torch.testing.assert_close(kept_by(valve, incoming, written), keep * incoming + (1 - keep) * h)


def test_lstm_carries_its_cell() -> None:
    valve = make("lstm")
    assert isinstance(valve, LstmValve) and valve.extra == WIDTH
    incoming, written, cell = memories(3)
    gates = written @ valve.cell.weight_ih.T + valve.cell.bias_ih + incoming @ valve.cell.weight_hh.T
    i, f, g, o = (gates + valve.cell.bias_hh).chunk(4, -1)
    next_cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    kept, carried = valve(incoming, written, cell)
    torch.testing.assert_close(carried, next_cell)
    torch.testing.assert_close(kept, torch.sigmoid(o) * torch.tanh(next_cell))
    bias = valve.cell.bias_ih + valve.cell.bias_hh
    assert (bias[WIDTH : 2 * WIDTH] == 2).all() and (bias.abs() < 2).sum() == 3 * WIDTH


def test_no_valve_is_what_was_written() -> None:
    valve, (incoming, written) = make("none"), memories()
    assert kept_by(valve, incoming, written) is written
    assert not list(valve.parameters())


@pytest.mark.parametrize("name", ["ca1", "ca2", "none"])
def test_kept_rows_are_mixes_of_the_candidates(name: str) -> None:
    """With one head: the weights are those of the attention, they sum to one, and the biases are inside."""
    valve, (incoming, written) = make(name, heads=1), memories()
    rows = valve.candidates(incoming, written)
    assert rows is not None
    solved = torch.linalg.lstsq(rows.mT.double(), kept_by(valve, incoming, written).mT.double()).solution
    torch.testing.assert_close(rows.mT.double() @ solved, kept_by(valve, incoming, written).mT.double())
    torch.testing.assert_close(solved.sum(1), torch.ones(2, 5).double(), rtol=0, atol=1e-5)
    assert solved.min() > -1e-5


@pytest.mark.parametrize(("name", "fields"), [("gate", {}), ("gru", {}), ("lstm", {}), ("ca2", {"feed_forward": 4})])
def test_valves_that_do_not_mix_have_no_candidates(name: str, fields: dict[str, Any]) -> None:
    assert make(name, **fields).candidates(*memories()) is None


@pytest.mark.parametrize("name", VALVES.names())
def test_rows_of_a_batch_do_not_meet(name: str) -> None:
    valve, (incoming, written) = make(name), memories()
    changed = torch.stack([written[0], written[1] + 1])
    assert torch.equal(kept_by(valve, incoming, written)[0], kept_by(valve, incoming, changed)[0])


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown valve 'ca3'; did you mean 'ca[12]' or 'ca[12]'\?"):
        VALVES.get("ca3")
    with pytest.raises(UnknownNameError, match=r"unknown activation 'zzz'; known: .*relu"):
        ACTIVATIONS.get("zzz")


def effective_rank(memory: Tensor) -> float:
    """exp of the entropy of the squared singular values' shares, the mean over the batch."""
    share = torch.linalg.svdvals(memory.detach()).square()
    share = share / share.sum(-1, keepdim=True)
    return float((-(share * share.clamp(min=1e-12).log()).sum(-1)).exp().mean())


@pytest.mark.parametrize("heads", [1, 2])
def test_a_bias_on_the_diagonal_keeps_the_rows_apart(heads: int) -> None:
    fields: dict[str, Any] = {"heads": heads, "rows": 5}
    plain, biased = make("ca2", **fields), make("ca2", **fields, bias=6.0)
    incoming, written = memories()
    own = attention(biased, incoming, written.clamp(min=0))
    assert isinstance(biased, CrossAttentionValve)
    torch.testing.assert_close(
        kept_by(make("ca2", **fields, bias=60.0), incoming, written), biased.candidates(incoming, written)
    )
    assert not torch.allclose(kept_by(biased, incoming, written), own)
    small = 0.1 * written  # with scores near zero, as those of fresh weights are
    assert (
        effective_rank(kept_by(plain, incoming, small)) < 1.1 < 1.3 < effective_rank(kept_by(biased, incoming, small))
    )


def test_without_a_bias_there_is_none_to_learn() -> None:
    assert "bias" not in dict(make("ca2", rows=5).named_parameters())
    assert make("ca2", rows=5, bias=4.0).bias.no_decay


def test_an_aligned_start_gives_back_what_was_written() -> None:
    valve = make("ca2", rows=5, bias=60.0, start="aligned", activation="identity", heads=2)
    incoming, written = memories()
    torch.testing.assert_close(kept_by(valve, incoming, written), written)
