"""The Memory Retention Valve (MRV), section 3 of the paper, in all the forms of its ablation.

A valve takes the memory that came in and the memory that the segment wrote, and decides what is carried on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rate.nn.gate import BIAS, Gate
from rate.nn.valves import VALVES, ValveConfig
from rate.registry import Registry

__all__ = ["ACTIVATIONS", "VALVES", "Valve", "ValveConfig"]

ACTIVATIONS: Registry[Callable[[Tensor], Tensor]] = Registry("activation")
ACTIVATIONS.add("relu", F.relu)
ACTIVATIONS.add("leaky-relu", F.leaky_relu)
ACTIVATIONS.add("gelu", F.gelu)
ACTIVATIONS.add("tanh", torch.tanh)
ACTIVATIONS.add("identity", lambda x: x)


class Valve(nn.Module, ABC):
    """Built as Valve(config), called as valve(incoming, written, cell) -> (kept, cell).

    Incoming, written and kept are (B, M, D). The cell is what a valve carries besides the memory, (B, M, extra).
    """

    attends = False
    """Whether it has heads, an activation and a feed-forward network."""
    extra = 0
    """Width of the cell; with 0 it is an empty tensor that is passed through."""

    def __init__(self, config: ValveConfig) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, incoming: Tensor, written: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """What is carried on."""

    def candidates(self, incoming: Tensor, written: Tensor) -> Tensor | None:
        """(B, M, D): the rows of which every kept row is a mix; None where a valve does not mix rows."""
        return None


@VALVES.register("none")
class NoValve(Valve):
    """What the segment wrote: the recurrence of the Recurrent Memory Transformer."""

    def forward(self, incoming: Tensor, written: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        return written, cell

    def candidates(self, incoming: Tensor, written: Tensor) -> Tensor:
        return written


class CrossAttentionValve(Valve):
    """M_{n+1} = FFN(MultiHead(query = one memory, key = value = the other)). No residual, as in the paper."""

    attends = True

    def __init__(self, config: ValveConfig) -> None:
        super().__init__(config)
        width, inner = config.width, config.feed_forward
        self.heads = config.heads
        self.activation = ACTIVATIONS.get(config.activation)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        if config.start == "aligned":
            self._align()
        # Differs from the paper, where it is not 0: with fresh weights all scores are about alike, so that the first
        # update averages the rows and they stay equal. On the diagonal it makes the theorem's alignment likely.
        self.bias: nn.Parameter | None = None
        if config.bias:
            self.bias = nn.Parameter(config.bias * torch.eye(config.rows))
            self.bias.no_decay = True  # type: ignore[attr-defined]
        # Differs from the paper: the FFN of its equation is off by default, as in the runs behind its tables.
        self.feed_forward: nn.Module | None = None
        if inner:
            self.feed_forward = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))

    @torch.no_grad()
    def _align(self) -> None:
        """The theorem's condition from the start: what is written comes back as it is."""
        width = self.out.in_features
        nn.init.eye_(self.out.weight)
        self.key_value.weight[width:] = torch.eye(width)
        for bias in (self.out.bias, self.key_value.bias):
            nn.init.zeros_(bias)

    @abstractmethod
    def roles(self, incoming: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        """Who asks and who answers."""

    def forward(self, incoming: Tensor, written: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        asking, answering = self.roles(incoming, self.activation(written))
        query = self._heads(self.query(asking))
        key, value = self.key_value(answering).chunk(2, -1)
        mixed = F.scaled_dot_product_attention(query, self._heads(key), self._heads(value), self.bias)
        kept: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return kept if self.feed_forward is None else self.feed_forward(kept), cell

    def candidates(self, incoming: Tensor, written: Tensor) -> Tensor | None:
        """V W_M: row j is what would be kept if all heads attended to row j alone. An FFN behind it ends the mix."""
        if self.feed_forward is not None:
            return None
        _, answering = self.roles(incoming, self.activation(written))
        rows: Tensor = self.out(self.key_value(answering).chunk(2, -1)[1])
        return rows

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # (B, heads, M, D / heads)


@VALVES.register("ca1")
class WrittenAsksValve(CrossAttentionValve):
    """MRV-CA-1: the written memory asks, the old one answers.

    M_{n+1} = MultiHead(query = act(written), key = value = M_n)
    """

    def roles(self, incoming: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        return written, incoming


@VALVES.register("ca2")
class IncomingAsksValve(CrossAttentionValve):
    """MRV-CA-2, the paper's choice: the old memory asks, the written one answers.

    M_{n+1} = MultiHead(query = M_n, key = value = act(written))
    """

    def roles(self, incoming: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        return incoming, written


@VALVES.register("gate")
class GateValve(Valve):
    """MRV-G: a gate between the old memory and the written one.

    With W the written memory and * by element:

    r = sigmoid(M_n W_r + W U_r)
    z = sigmoid(M_n W_z + W U_z - bias)
    h = tanh(M_n W_g + (W * r) U_g)
    M_{n+1} = (1 - z) * M_n + z * h
    """

    def __init__(self, config: ValveConfig) -> None:
        super().__init__(config)
        # Differs from the paper: the candidate has a matrix U_g of its own; the paper prints U_r a second time.
        self.gate = Gate(config.width, resets="new")

    def forward(self, incoming: Tensor, written: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        # Differs from the paper: no sigmoid around the sum. As printed, it maps every memory into (0, 1), so that even
        # z = 0 changes what came in, and no state can be kept.
        return self.gate(incoming, written), cell


@VALVES.register("gru")
class GruValve(Valve):
    """MRV-GRU: the written memory is the input of a GRU, the old one its state.

    M_{n+1} = GRU(input = written, hidden = M_n), each row by itself
    """

    def __init__(self, config: ValveConfig) -> None:
        super().__init__(config)
        self.cell = nn.GRUCell(config.width, config.width)
        start_by_keeping(self.cell)

    def forward(self, incoming: Tensor, written: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        kept = self.cell(written.flatten(0, 1), incoming.flatten(0, 1))
        return kept.view(incoming.shape), cell


@VALVES.register("lstm")
class LstmValve(Valve):
    """MRV-LSTM: as MRV-GRU, with an LSTM and its cell.

    M_{n+1}, c_{n+1} = LSTM(input = written, hidden = M_n, cell = c_n), each row by itself, c_0 = 0
    """

    def __init__(self, config: ValveConfig) -> None:
        super().__init__(config)
        self.extra = config.width
        self.cell = nn.LSTMCell(config.width, config.width)
        start_by_keeping(self.cell)

    def forward(self, incoming: Tensor, written: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        state = incoming.flatten(0, 1), cell.flatten(0, 1)
        kept, cell = self.cell(written.flatten(0, 1), state)
        return kept.view(incoming.shape), cell.view(incoming.shape)


def start_by_keeping(cell: nn.GRUCell | nn.LSTMCell) -> None:
    """Give the gate that keeps the old state the bias of `Gate`: the second block of torch's rows in both cells.

    In a GRU this is the update gate, which in torch is the share of the old state; in an LSTM the forget gate.
    """
    block = slice(cell.hidden_size, 2 * cell.hidden_size)
    with torch.no_grad():
        cell.bias_ih[block] = BIAS
        cell.bias_hh[block] = 0.0
