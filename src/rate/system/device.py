"""Which device and precision to use, and the versions a run was made with.

`auto` takes the best that is there; asking for a device that is not there is an error, not a fallback.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from typing import Any

import torch

from rate.errors import ConfigError

PACKAGES = ("rate-rl", "torch", "numpy", "gymnasium", "safetensors")


def pick_device(name: str) -> torch.device:
    """auto: cuda, else mps, else cpu."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # torch's device `meta` makes tensors that hold nothing
    except (RuntimeError, AssertionError) as reason:
        raise ConfigError(f"device {name!r} cannot be used here: {str(reason).splitlines()[0]}") from None
    return device


def autocast(precision: str, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """bfloat16 where it is asked for, or where the device has it and the choice is left open."""
    has = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if precision == "bfloat16" or (precision == "auto" and has):
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return contextlib.nullcontext()


def check_compiles(device: torch.device) -> None:
    """Refuse torch.compile where it cannot make kernels, such as on a CPU without a C++ compiler."""
    try:
        torch.compile(lambda x: x.sin() + 1)(torch.zeros(8, device=device))
    except Exception as reason:  # of the compiler, of the system's headers: torch has many for it
        why = str(reason).strip().splitlines() or [type(reason).__name__]
        raise ConfigError(f"train.compile cannot be used here, leave it out: {why[0]}") from None


def uncompiled(compiled: bool) -> contextlib.AbstractContextManager[Any]:
    """Run what is compiled as it is written: kernels for what is done now and then do not pay."""
    return torch.compiler.set_stance("force_eager") if compiled else contextlib.nullcontext()


def versions() -> dict[str, str]:
    """Versions of what results depend on."""
    found = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def git_commit() -> str | None:
    """The commit of the working directory, if it is a git checkout and git is there."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["git", "rev-parse", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    return None


def environment_record(device: torch.device, command: Sequence[str] | None = None) -> dict[str, Any]:
    """What environment.json holds; `command` is the command line that started the run, if one did."""
    return {
        **({} if command is None else {"command": list(command)}),
        "versions": versions(),
        "device": str(device),
        "threads": torch.get_num_threads(),
        "git_commit": git_commit(),
    }
