"""Mamba: a state that is read, kept and written by choice of each token, after Gu and Dao.

E inner channels, N numbers of state per channel. States are (B, N, E): channels last is what a CPU adds up fastest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from rate.nn.backbone import Backbone
from rate.nn.dropout import Dropout
from rate.types import Tree

CHUNK = 8
"""Tokens whose states are held at once."""
GROUP = 65536
"""Numbers of state that go through the scan together: rows are cut into groups whose chunks stay in the cache."""
LOG2_E = math.log2(math.e)


def scan_step(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """h' = exp(delta A) h + (delta x) B, y = C h', for x, delta (B, E), A (N, E), B, C (B, N) and h (B, N, E)."""
    decay = (delta[:, None] * A).exp_()  # in place: fresh memory costs more than the sums
    state = (decay * state).addcmul_((delta * x)[:, None], B[..., None])
    return torch.bmm(C[:, None], state)[:, 0], state


def loop_scan(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrence written down, token by token: what `selective_scan` is held to."""
    outputs: list[Tensor] = []
    for now in zip(x.unbind(1), delta.unbind(1), B.unbind(1), C.unbind(1), strict=True):
        y, state = scan_step(*now[:2], A, *now[2:], state)
        outputs.append(y)
    return torch.stack(outputs, 1), state


def selective_scan(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """All tokens: x, delta (B, L, E), A (N, E), B, C (B, L, N), h (B, N, E) -> y (B, L, E) and the last h."""
    count = max(1, state.numel() // GROUP)
    sequences = ([part.transpose(0, 1).contiguous() for part in v.to(A.dtype).chunk(count)] for v in (x, delta, B, C))
    groups = zip(*sequences, state.chunk(count), strict=True)
    results = [_Scan.apply(x, delta, A, B, C, state) for x, delta, B, C, state in groups]  # type: ignore[no-untyped-call]
    outputs, states = zip(*results, strict=True)
    return torch.cat(outputs, 1).transpose(0, 1), torch.cat(states)


class _Scan(torch.autograd.Function):
    """The scan of one group of rows, time first. Keeps a state per chunk; backward makes those between them again."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        chunks = _chunks(len(x))
        borders = state.new_empty(len(chunks) + 1, *state.shape)
        borders[0] = state
        written, y = delta * x, torch.empty_like(x)
        buffers = state.new_empty(2, min(CHUNK, len(x)), *state.shape)
        for index, at in enumerate(chunks):
            _, states = _states(borders[index], written[at], delta[at], A, B[at], buffers)
            _contract(C[at], states, y[at])
            borders[index + 1] = states[-1]
        ctx.save_for_backward(x, delta, A, B, C, borders[:-1])
        return y, borders[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor, dstate: Tensor) -> tuple[Tensor, ...]:
        x, delta, A, B, C, borders = ctx.saved_tensors
        written, dy = delta * x, dy.contiguous()
        dwritten, ddelta, dB, dC = (torch.empty_like(v) for v in (x, delta, B, C))
        dA = torch.zeros_like(A)
        buffers = dstate.new_empty(4, min(CHUNK, len(x)), *dstate.shape)
        for at, before in reversed(list(zip(_chunks(len(x)), borders, strict=True))):
            decay, states = _states(before, written[at], delta[at], A, B[at], buffers[:2])
            dstates, spare = buffers[2:, : len(states)]
            _contract(dy[at], states.mT, dC[at])
            torch.mul(dy[at, :, None], C[at, ..., None], out=dstates)
            dstates[-1] += dstate
            _recur(dstates.unbind()[::-1], decay.unbind()[:0:-1])
            _contract(B[at], dstates, dwritten[at])
            _contract(written[at], dstates.mT, dB[at])
            dstate = dstates.mul_(decay)[0].clone()  # of the state before the chunk
            dstates[0] *= before
            dstates[1:] *= states[:-1]  # now the gradient of the exponent, delta A
            torch.sum(torch.mul(dstates, A, out=spare), 2, out=ddelta[at])
            dA += torch.mul(dstates, delta[at, :, None], out=spare).sum((0, 1))
        return dwritten * delta, ddelta.addcmul_(dwritten, x), dA, dB, dC, dstate


def _chunks(length: int) -> list[slice]:
    return [slice(start, min(start + CHUNK, length)) for start in range(0, length, CHUNK)]


def _states(
    before: Tensor, written: Tensor, delta: Tensor, A: Tensor, B: Tensor, buffers: Tensor
) -> tuple[Tensor, Tensor]:
    """The decays exp(delta A) and the states of a chunk, in the two buffers."""
    decay, states = buffers[:, : len(delta)]
    torch.mul(delta[:, :, None], A * LOG2_E, out=decay).exp2_()  # on a CPU nearly twice as fast as exp
    torch.mul(written[:, :, None], B[..., None], out=states)
    _recur((before, *states.unbind()), decay.unbind())
    return decay, states


def _recur(values: Sequence[Tensor], decays: Sequence[Tensor]) -> None:
    """In place, one kernel a step: add to every value the one before it, decayed."""
    for decay, (before, now) in zip(decays, pairwise(values), strict=True):
        now.addcmul_(decay, before)


def _contract(vectors: Tensor, matrices: Tensor, out: Tensor) -> None:
    """A vector times a matrix for every token and row: (L, B, I), (L, B, I, J) -> (L, B, J)."""
    torch.bmm(vectors.flatten(0, 1)[:, None], matrices.flatten(0, 1), out=out.flatten(0, 1)[:, None])


State: TypeAlias = tuple[Tensor, Tensor]
"""The last inputs of the convolution (B, conv - 1, E), and the state of the scan (B, N, E)."""


class Mixer(nn.Module):
    """Tokens to tokens: a short convolution, the scan, a gate. Names of parameters are those of the original."""

    def __init__(
        self,
        width: int,
        state: int,
        expand: int,
        conv: int,
        decay: float = 1.0,
        steps: tuple[float, float] = (1e-3, 1e-1),
    ) -> None:
        super().__init__()
        self.inner, self.size, self.rank = expand * width, state, math.ceil(width / 16)
        self.in_proj = nn.Linear(width, 2 * self.inner, bias=False)
        self.conv_weight = nn.Parameter(torch.empty(conv, self.inner).uniform_(-(conv**-0.5), conv**-0.5))
        self.conv_bias = nn.Parameter(torch.empty(self.inner).uniform_(-(conv**-0.5), conv**-0.5))
        self.x_proj = nn.Linear(self.inner, self.rank + 2 * state, bias=False)
        self.dt_proj = nn.Linear(self.rank, self.inner)
        self.A_log = nn.Parameter((decay * torch.arange(1.0, state + 1)).log()[:, None].repeat(1, self.inner))
        self.D = nn.Parameter(torch.ones(self.inner))
        self.out_proj = nn.Linear(self.inner, width, bias=False)
        for parameter in (self.A_log, self.conv_weight):
            parameter.no_decay = True  # type: ignore[attr-defined]  # not a matrix, though it has two axes
        self._initialise_steps(*steps)

    @torch.no_grad()
    def _initialise_steps(self, least: float, most: float) -> None:
        """softplus(bias) is log-uniform between `least` and `most`."""
        nn.init.uniform_(self.dt_proj.weight, -(self.rank**-0.5), self.rank**-0.5)
        delta = torch.empty(self.inner).uniform_(math.log(least), math.log(most)).exp()
        self.dt_proj.bias.copy_(delta + torch.log(-torch.expm1(-delta)))

    def initial_state(self, batch: int) -> State:
        like = self.D
        return like.new_zeros(batch, len(self.conv_weight) - 1, self.inner), like.new_zeros(batch, *self.A_log.shape)

    def forward(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        x, gate = self.in_proj(u).chunk(2, -1)
        inputs = torch.cat([state[0], x], 1)
        x = F.silu(self._convolve(inputs))
        delta, B, C = self._select(x)
        y, ssm = selective_scan(x, delta, -self.A_log.exp(), B, C, state[1])
        return self._gated(y, x, gate), (inputs[:, u.shape[1] :], ssm)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        x, gate = self.in_proj(u).chunk(2, -1)
        inputs = torch.cat([state[0], x[:, None]], 1)
        x = F.silu((inputs * self.conv_weight).sum(1) + self.conv_bias)
        delta, B, C = self._select(x)
        y, ssm = scan_step(x, delta, -self.A_log.exp(), B, C, state[1])
        return self._gated(y, x, gate), (inputs[:, 1:], ssm)

    def _convolve(self, inputs: Tensor) -> Tensor:
        """Each channel on its own: (B, L + conv - 1, E) -> (B, L, E)."""
        # As an image of height 1 it stays channels-last, which the one-dimensional kernel would not.
        weight = self.conv_weight.t()[:, None, None]
        image = F.conv2d(inputs.transpose(1, 2)[:, :, None], weight, self.conv_bias, groups=self.inner)
        return image[:, :, 0].transpose(1, 2)

    def _select(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What a token chooses: step size delta (..., E), what to write B and what to read C (..., N)."""
        low, B, C = self.x_proj(x).split([self.rank, self.size, self.size], -1)
        return F.softplus(self.dt_proj(low)), B, C

    def _gated(self, y: Tensor, x: Tensor, gate: Tensor) -> Tensor:
        out: Tensor = self.out_proj(torch.addcmul(y, self.D, x) * F.silu(gate))
        return out


class Block(nn.Module):
    """x + mixer(norm(x)), then, unless its width is 0, x + feed-forward(norm(x))."""

    def __init__(self, width: int, mixer: Mixer, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.mixer = nn.LayerNorm(width), mixer
        self.feed_forward: nn.Module | None = None
        if feed_forward:
            self.feed_forward = nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, feed_forward), nn.GELU(), nn.Linear(feed_forward, width),
                Dropout(dropout),
            )  # fmt: skip

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        mixed, state = self.mixer(self.norm(x), state)
        return self._fed(x + mixed), state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        mixed, state = self.mixer.step(self.norm(x), state)
        return self._fed(x + mixed), state

    def _fed(self, x: Tensor) -> Tensor:
        return x if self.feed_forward is None else x + self.feed_forward(x)


class Mamba(Backbone):
    """Blocks of a mixer and a feed-forward network, and a final norm. The state is a tuple of one State per block."""

    def __init__(
        self, width: int, *, layers: int, mixer: Callable[[int], Mixer], feed_forward: int, dropout: float
    ) -> None:
        super().__init__()
        self.width = width
        mixers = (mixer(width) for _ in range(layers))
        self.blocks = nn.ModuleList(Block(width, mixer, feed_forward, dropout) for mixer in mixers)
        self.norm = nn.LayerNorm(width)

    def _blocks(self) -> list[Block]:
        return [cast(Block, block) for block in self.blocks]

    def initial_state(self, batch: int) -> Tree:
        return tuple(block.mixer.initial_state(batch) for block in self._blocks())

    def forward(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        after: list[State] = []
        for block, before in zip(self._blocks(), state, strict=True):
            x, carried = block(x, before)
            after.append(carried)
        return self.norm(x), tuple(after)

    def step(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        after: list[State] = []
        for block, before in zip(self._blocks(), state, strict=True):
            x, carried = block.step(x, before)
            after.append(carried)
        return self.norm(x), tuple(after)
