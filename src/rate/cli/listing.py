"""`rate list`: the names that are registered, and what their owners say of them. It needs no torch."""

from __future__ import annotations

import json as jsonlib
from typing import Any, Literal

import tyro

from rate.envs import ENVS
from rate.models import MODELS
from rate.models.acting import INTERVENTIONS, PROMPTS
from rate.nn.encoding import ENCODERS
from rate.nn.valves import VALVES
from rate.objectives import OBJECTIVES
from rate.recipes import RECIPES, SUITES
from rate.registry import Registry, families
from rate.training.loggers import LOGGERS

KINDS: dict[str, Registry[Any]] = {
    "envs": ENVS,
    "models": MODELS,
    "recipes": RECIPES,
    "suites": SUITES,
    "valves": VALVES,
    "encoders": ENCODERS,
    "objectives": OBJECTIVES,
    "interventions": INTERVENTIONS,
    "prompts": PROMPTS,
    "loggers": LOGGERS,
}
Kind = Literal[
    "all",
    "envs",
    "models",
    "recipes",
    "suites",
    "valves",
    "encoders",
    "objectives",
    "interventions",
    "prompts",
    "loggers",
]


def list_names(
    kind: tyro.conf.Positional[Kind] = "all",
    *,
    json: bool = False,
) -> None:
    """List what there is: environments, models, recipes, suites, valves, encoders, objectives, ways to act.

    Args:
        kind: What to list.
        json: Print JSON.
    """
    chosen = {name: registry.names() for name, registry in KINDS.items() if kind in ("all", name)}
    if json:
        print(jsonlib.dumps(chosen, indent=2))
    elif kind != "all":
        _print_described(KINDS[kind])
        if kind == "envs":
            _print_options()
    else:
        for name, names in chosen.items():
            print(f"{name}: {', '.join(families(names))}")


def _print_described(registry: Registry[Any]) -> None:
    """A name per line, and behind it what its owner says of it."""
    widest = max(len(name) for name in registry)
    for name in registry:
        print(f"{name:{widest}}  {registry.summary(name)}".rstrip())


def _print_options() -> None:
    """What --set takes, of environments and their experts; those of a family that take the same share a line."""
    shared: dict[tuple[str, str], list[str]] = {}
    for name in ENVS:
        taken = ", ".join(f"{option}={value}" for option, value in ENVS.get(name).expert_defaults.items())
        shared.setdefault((name.partition("/")[0], taken), []).append(name)
    print("\noptions of environments and experts (--set), with their defaults")
    for (_, taken), names in shared.items():
        print(f"  {', '.join(families(names) if len(names) > 1 else names)}: {taken or 'none'}")
