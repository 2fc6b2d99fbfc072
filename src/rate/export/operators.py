"""Three operators that ONNX has and torch's own translation would write as many: a turn, attention, rows in place.

While a graph is traced they stand in a domain of their own; `rename` gives them back to ONNX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rate.nn.attention import turn

if TYPE_CHECKING:
    import onnx

DOMAIN = "rate"
OPSET = 23
"""The first with these operators; onnxruntime has it from 1.23 on."""


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, slots: Tensor, heads: int) -> Tensor:
        cos, sin = cos[slots][:, :, None], sin[slots][:, :, None]
        rows = torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)
        return turn(x.reshape(*x.shape[:2], heads, -1), rows).flatten(2)

    @staticmethod
    def symbolic(g: Any, x: Any, cos: Any, sin: Any, slots: Any, heads: int) -> Any:
        return g.op(f"{DOMAIN}::RotaryEmbedding", x, cos, sin, slots, num_heads_i=heads).setType(x.type())


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, heads: int, groups: int) -> Tensor:
        asked = query.reshape(*query.shape[:2], heads, -1).transpose(1, 2)
        key, value = (part.reshape(*part.shape[:2], groups, -1).transpose(1, 2) for part in (key, value))
        mixed = F.scaled_dot_product_attention(asked, key, value, bias, enable_gqa=True)
        return mixed.transpose(1, 2).flatten(2)

    @staticmethod
    def symbolic(g: Any, query: Any, key: Any, value: Any, bias: Any, heads: int, groups: int) -> Any:
        sizes = {"q_num_heads_i": heads, "kv_num_heads_i": groups}
        return g.op(f"{DOMAIN}::Attention", query, key, value, bias, **sizes).setType(query.type())


class _Write(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, stored: Tensor, places: Tensor, rows: Tensor) -> Tensor:
        return stored.index_put(tuple(places.unbind(-1)), rows)

    @staticmethod
    def symbolic(g: Any, stored: Any, places: Any, rows: Any) -> Any:
        return g.op(f"{DOMAIN}::ScatterND", stored, places, rows).setType(stored.type())


def turned(x: Tensor, cos: Tensor, sin: Tensor, slots: Tensor, heads: int) -> Tensor:
    """Turn (B, L, heads x width) to the slots (B, L) of the tables (slots, width / 2)."""
    result: Tensor = _Turn.apply(x, cos, sin, slots, heads)  # type: ignore[no-untyped-call]
    return result


def attended(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, heads: int, groups: int) -> Tensor:
    """(B, L, heads x width), (B, S, groups x width) twice and (L, S) -> (B, L, heads x width)."""
    result: Tensor = _Attend.apply(query, key, value, bias, heads, groups)  # type: ignore[no-untyped-call]
    return result


def written(stored: Tensor, places: Tensor, rows: Tensor) -> Tensor:
    """The stored tensor with rows at places, a full index of each row; bound to one memory, nothing else is moved."""
    result: Tensor = _Write.apply(stored, places, rows)  # type: ignore[no-untyped-call]
    return result


def rename(model: onnx.ModelProto) -> None:
    """Give the operators back to ONNX, whose newer version has them; the others did not change until then."""
    for node in model.graph.node:
        if node.domain == DOMAIN:
            node.domain = ""
    del model.opset_import[:]
    model.opset_import.add(domain="", version=OPSET)
