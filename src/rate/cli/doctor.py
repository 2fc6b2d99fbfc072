"""`rate doctor`: what works in this installation and what is missing, each with what to do.

The last check is a real one: a small policy is built, trained for one step and acted with.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import torch

from rate.envs import ENVS
from rate.envs.spec import spaces_of
from rate.experiment import data_root
from rate.models import MODELS
from rate.models.actor import Actor
from rate.objectives import BehaviourCloning
from rate.plugins import Plugin, load_installed
from rate.system.device import pick_device, versions
from rate.types import Segment

PACKAGE = "rate-rl"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<parts>[^]]*)\])?.*;.*extra == [\"'](?P<extra>\w+)")


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
    found += [_extra(extra, names) for extra, names in sorted(extras().items())]
    found += [_plugin(plugin) for plugin in load_installed()]
    found.append(_checked("data directory", lambda: _writable(data_root())))
    found.append(_checked("training and acting", _works))
    return found


def _plugin(plugin: Plugin) -> Finding:
    what = f"plug-in {plugin.module} of {plugin.package}"
    if plugin.fault:
        return Finding(what=what, state="bad", detail=plugin.fault)
    return Finding(what=what, state="ok", detail="imported")


def extras() -> dict[str, set[str]]:
    """The extras of this package, as its metadata tells them: each with the packages that it installs."""
    found = [one.groupdict() for text in metadata.requires(PACKAGE) or [] if (one := REQUIREMENT.match(text))]
    direct = {extra: [one for one in found if one["extra"] == extra] for extra in {one["extra"] for one in found}}

    def packages(extra: str) -> set[str]:
        own = {one["name"] for one in direct[extra] if one["name"] != PACKAGE}
        parts = [part for one in direct[extra] if one["name"] == PACKAGE for part in one["parts"].split(",")]
        return own.union(*(packages(part.strip()) for part in parts))

    return {extra: packages(extra) for extra in direct}


def _extra(extra: str, packages: set[str]) -> Finding:
    if all(map(_is_installed, packages)):
        return Finding(what=f"extra {extra}", state="ok", detail="installed")
    return Finding(what=f"extra {extra}", state="absent", detail=f"pip install '{PACKAGE}[{extra}]'")


def _is_installed(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


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
