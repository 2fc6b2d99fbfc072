"""LSTM and GRU over tokens: the fused kernels in training, a step of the same kernels while acting."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rate.nn.backbone import Backbone
from rate.nn.dropout import Dropout
from rate.nn.kinds import Cell
from rate.types import Tree


class Rnn(Backbone):
    """Stacked LSTM or GRU layers. The state is a tuple of (B, layers, hidden): (h, c), or (h,) for a GRU."""

    def __init__(self, cell: Cell, inputs: int, hidden: int, layers: int, dropout: float, forget_bias: float) -> None:
        super().__init__()
        self.width, self.layers, self.parts = hidden, layers, 2 if cell == "lstm" else 1
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.rnn = kind(inputs, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        self.dropout = Dropout(dropout)
        self._initialise(cell, forget_bias)

    @torch.no_grad()
    def _initialise(self, cell: Cell, forget_bias: float) -> None:
        """Orthogonal weights, zero biases, and gates that start on the side of keeping."""
        for name, parameter in self.rnn.named_parameters():
            if name.startswith("weight"):
                for gate in parameter.chunk(len(parameter) // self.width):
                    nn.init.orthogonal_(gate)
            else:
                parameter.zero_()
            if name.startswith("bias_ih"):
                # Rows of torch: an LSTM's input, forget, cell, output; a GRU's reset, update (keep), new.
                parameter[self.width : 2 * self.width] = forget_bias

    def initial_state(self, batch: int) -> Tree:
        like: Tensor = next(self.rnn.parameters())
        return tuple(like.new_zeros(batch, self.layers, self.width) for _ in range(self.parts))

    def forward(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        # In half precision the kernels of a CPU refuse some lengths.
        with torch.autocast("cpu", enabled=False):
            hidden, last = self.rnn(x.to(state[0].dtype), self._to_torch(state))
        return self.dropout(hidden), self._from_torch(last)

    def step(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        out, last = self.rnn(x[:, None], self._to_torch(state))
        return out[:, 0], self._from_torch(last)

    def _to_torch(self, state: Tree) -> Tree:
        """Batch-first to the layer-first tensors of torch."""
        parts = tuple(part.transpose(0, 1).contiguous() for part in state)
        return parts if self.parts == 2 else parts[0]

    def _from_torch(self, last: Tree) -> Tree:
        return tuple(part.transpose(0, 1) for part in (last if self.parts == 2 else (last,)))
