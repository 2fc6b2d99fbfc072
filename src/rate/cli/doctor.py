"""`rate doctor`: what works in this installation and what is missing, each with what to do.

The last check is a real one: a small policy is built, trained for one step and acted with.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from rate.envs import ENVS
from rate.envs.spec import spaces_of
from rate.experiment import data_root
from rate.models import MODELS
from rate.models.actor import Actor
from rate.objectives import BehaviourCloning
from rate.training.device import pick_device, versions
from rate.types import Segment

EXTRAS = {"minari": "minari"}
"""Module to the extra that installs it."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: Literal["ok", "absent", "bad"]
    detail: str


def diagnose() -> list[Finding]:
    """Look at everything; a check that fails is a finding, not an error."""
    found = [Finding(what=name, state="ok", detail=version) for name, version in versions().items()]
    found.append(Finding(what="device", state="ok", detail=f"{pick_device('auto')}, {torch.get_num_threads()} threads"))
    found += [_extra(module, extra) for module, extra in EXTRAS.items()]
    found.append(_checked("data directory", lambda: _writable(data_root())))
    found.append(_checked("training and acting", _works))
    return found


def _extra(module: str, extra: str) -> Finding:
    if importlib.util.find_spec(module):
        return Finding(what=f"extra {extra}", state="ok", detail="installed")
    return Finding(what=f"extra {extra}", state="absent", detail=f"pip install 'rate-rl[{extra}]'")


def _checked(what: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, state="ok", detail=check())
    except Exception as reason:
        return Finding(what=what, state="bad", detail=str(reason).splitlines()[0])


def _writable(path: Path) -> str:
    parent = next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())
    with tempfile.TemporaryFile(dir=parent):
        return f"{path.absolute()} can be written"


def _works() -> str:
    spec = ENVS.get("tmaze")
    policy = MODELS.get("rate")(9, layers=1).build(spaces_of(spec))
    window = Segment(
        observation=torch.zeros(2, 9, 4),
        action=torch.zeros(2, 9, dtype=torch.long),
        return_to_go=torch.ones(2, 9),
        reward=torch.zeros(2, 9),
        terminated=torch.zeros(2, 9, dtype=torch.bool),
        timestep=torch.arange(9).expand(2, -1),
        mask=torch.ones(2, 9, dtype=torch.bool),
    )
    loss = BehaviourCloning()(policy, window).total
    loss.backward()
    torch.optim.AdamW(policy.parameters()).step()
    Actor(policy, target_return=1.0).act(spec.make(length=9).reset(seed=0)[0])
    return "a policy is trained for a step and acts"
