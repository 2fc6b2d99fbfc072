"""A function of named tensors as an ONNX graph: traced, with a batch of any size, and checked."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.onnx.errors import OnnxExporterError

from rate.errors import ConfigError
from rate.export.operators import rename
from rate.system.files import shown

TRACED = 18
"""The version of the operators that tracing writes."""
Named = Mapping[str, Tensor]


class _Traced(nn.Module):
    """Tracing gives tensors by their order; the function takes them by their names."""

    def __init__(self, weights: nn.Module, function: Callable[[dict[str, Tensor]], Named], names: list[str]) -> None:
        super().__init__()
        self.weights, self.function, self.names = weights, function, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.function(dict(zip(self.names, tensors, strict=True))).values())


def to_onnx(weights: nn.Module, function: Callable[[dict[str, Tensor]], Named], example: Named) -> bytes:
    """The graph of a function of tensors that have a batch in front, or no axis at all."""
    import onnx

    with torch.no_grad():
        names, outputs = list(example), function(dict(example))
    arrays = [name for name, tensor in {**example, **outputs}.items() if tensor.dim()]
    file = io.BytesIO()
    with _quiet(), torch.no_grad():
        torch.onnx.export(
            _Traced(weights, function, names).eval(),
            tuple(example.values()),
            file,  # type: ignore[arg-type]
            dynamo=False,
            opset_version=TRACED,
            input_names=names,
            output_names=list(outputs),
            dynamic_axes={name: {0: "batch"} for name in arrays},
        )
    model = onnx.load_from_string(file.getvalue())
    rename(model)
    _drop_unread(model)
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString()
    return content


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings of what is fixed on purpose; what has no translation is told in one line, not in thousands."""
    with warnings.catch_warnings(), _silent():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        except (OnnxExporterError, RuntimeError) as reason:
            raise ConfigError(f"this policy cannot be exported: {shown(str(reason).partition(chr(10))[0])}") from None
        finally:
            logging.disable(logging.NOTSET)


@contextmanager
def _silent() -> Iterator[None]:
    """Torch prints a graph that it cannot translate, past Python, to standard output."""
    sys.stdout.flush()
    own, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)
        os.close(nowhere)


def _drop_unread(model: Any) -> None:
    """Inputs that nothing reads, such as the return-to-go of a policy that is told none."""
    read = {name for node in model.graph.node for name in node.input} | {value.name for value in model.graph.output}
    for value in [value for value in model.graph.input if value.name not in read]:
        model.graph.input.remove(value)
