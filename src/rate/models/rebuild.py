"""Policies are first built without memory (torch's meta device), so that a configuration of absurd size costs nothing.

What comes from a file must have the tensors of the file; what is new must fit into this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from rate.errors import ConfigError
from rate.models.policy import ModelConfig, SequencePolicy
from rate.system.files import shown
from rate.types import Spaces

Shapes = Mapping[str, Sequence[int]]
MOST_TENSORS = 2_000
"""Parameters of a policy; each takes time to make, even without memory."""
USUAL_MEMORY = 16 << 30
"""Bytes that a machine is thought to have where it does not say."""


def build_policy(config: ModelConfig, spaces: Spaces, shapes: Shapes | None = None) -> SequencePolicy[Any]:
    """The policy with fresh weights; ConfigError if it has other tensors than `shapes`, or no room on this machine."""
    try:
        outline = _outline(config, spaces, MOST_TENSORS if shapes is None else len(shapes))
    except (RuntimeError, OverflowError, MemoryError, TypeError) as reason:  # sizes that are no sizes
        raise ConfigError(f"{config.name} cannot be built: {shown(reason, 100)}") from None
    if shapes is not None:
        _compare({name: tuple(tensor.shape) for name, tensor in outline.state_dict().items()}, shapes)
    needed = sum(tensor.numel() * tensor.element_size() for tensor in (*outline.parameters(), *outline.buffers()))
    if needed > _memory() // 2:
        raise ConfigError(f"{config.name} of this configuration needs {needed / 2**30:.3g} GiB, more than there is")
    return config.build(spaces)


def _compare(own: Mapping[str, tuple[int, ...]], shapes: Shapes) -> None:
    odd = sorted(set(own) ^ set(shapes)) or sorted(name for name in own if own[name] != tuple(shapes[name]))
    if odd:
        raise ConfigError(f"the weights are of another architecture: they do not fit in {odd[0]!r}")


def _outline(config: ModelConfig, spaces: Spaces, most: int) -> SequencePolicy[Any]:
    """The policy without memory. Building stops at the first parameter too many: a billion layers would take hours."""
    count = 0

    def counted(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal count
        count += parameter is not None
        if count > 2 * most + 100:  # some are registered twice: made, and then shared or replaced
            raise ConfigError(f"{config.name} of this configuration has too many layers: more than {most} tensors")

    with _hooked(counted), torch.device("meta"), _Unfilled():
        return config.build(spaces)


@contextmanager
def _hooked(hook: Callable[[nn.Module, str, nn.Parameter | None], None]) -> Iterator[None]:
    handle = register_module_parameter_registration_hook(hook)
    try:
        yield
    finally:
        handle.remove()


class _Unfilled(TorchFunctionMode):
    """Values of tensors without memory are not drawn and not convolved: torch would load its compiler for that."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensor, name = args[0] if args else (kwargs or {}).get("tensor"), getattr(function, "__name__", "")
        if isinstance(tensor, Tensor) and tensor.is_meta:
            if name in ("normal_", "uniform_", "trunc_normal_"):
                return tensor
            if name == "conv2d" and not kwargs and len(args) == 7 and not isinstance(args[4], str):
                return tensor.new_empty(_convolved(*args))
        return function(*args, **(kwargs or {}))


def _convolved(
    x: Tensor, weight: Tensor, _: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], __: int
) -> tuple[int, ...]:
    """The shape that torch.conv2d of these arguments gives."""
    sides = [
        (side + 2 * pad - wide * (kernel - 1) - 1) // step + 1
        for side, kernel, step, pad, wide in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    ]
    return (x.shape[0], weight.shape[0], *sides)


def _memory() -> int:
    """Bytes of memory that this machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return USUAL_MEMORY
