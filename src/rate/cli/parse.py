"""Command-line parsing with tyro, with every mistake of the user shown in one line.

tyro explains a mistake in a box of many lines; the first of them and the nearest option are what is needed.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar, cast

import tyro

from rate.errors import ConfigError
from rate.registry import near

T = TypeVar("T")


def parse(target: Callable[..., T], args: Sequence[str], prog: str, also: Sequence[str] = (), **options: Any) -> T:
    """As `tyro.cli`; `--help` prints and leaves, a mistake raises ConfigError; `also` are options it does not know."""
    if {"-h", "--help"} & set(args):
        return cast(T, tyro.cli(target, args=["--help"], prog=prog, **options))
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return cast(T, tyro.cli(target, args=list(args), prog=prog, **options))
    except SystemExit as leave:
        if leave.code in (0, None):
            raise
        raise ConfigError(f"{_one_line(said.getvalue(), also)}; see: {prog} --help") from None


def bare(args: Sequence[str], name: str) -> list[str]:
    """The words, with an empty value where an option that may stand without one does."""
    return [f"{word}=" if word == name and after.startswith("--") else word for word, after in pairwise([*args, "--"])]


def _one_line(box: str, also: Sequence[str]) -> str:
    """What tyro said, without the frame: the message, and the option that it thinks was meant."""
    blocks = [" ".join(block.split()) for block in re.split(r"^\s*-{5,}\s*$", box, flags=re.MULTILINE)]
    message = (blocks[1] if len(blocks) > 1 else " ".join(box.split())).rstrip(".")
    meant = re.findall(r"Perhaps you meant:.*?(--[\w.-]+)", box, flags=re.DOTALL)
    wrong = re.search(r"Unrecognized options: (--[\w.-]+)", message)
    close = [*meant, *(near(wrong[1], also) if wrong else ())]
    return f"{message}; did you mean {close[0]}?" if close else message


def set_threads(count: int) -> None:
    """Use this many CPU threads; 0: as many as torch takes."""
    if count < 0:
        raise ConfigError(f"--threads is {count}; it must not be negative")
    if count:
        import torch

        torch.set_num_threads(count)
