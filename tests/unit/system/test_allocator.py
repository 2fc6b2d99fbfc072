"""Freed memory is kept: the next block of the same size costs no new pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rate.system import allocator

TOUCH = """
import resource
import torch
from rate.system.allocator import keep_memory
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
if {keep}:
    assert keep_memory()
for at in range(20):
    began = faults() if at == 10 else began if at else 0
    torch.ones(2**24)
print(faults() - began)
"""


def faults(keep: bool) -> int:
    """New pages of ten times 64 MB after as many before, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", TOUCH.format(keep=keep)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(__import__("ctypes").CDLL(None), "mallopt"), reason="another allocator than glibc's")
def test_freed_memory_is_used_again() -> None:
    assert faults(keep=True) < 100 < faults(keep=False)


def test_another_allocator_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    assert not allocator.keep_memory()
