"""Collects a data set from the expert of an environment.

A request names its data set: the same request gives the same name, another one gives another.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rate.data.store import TrajectoryStore
from rate.data.writer import VERSION, StoreWriter
from rate.envs.spec import CollectRequest, EnvSpec, spaces_of
from rate.errors import ConfigError, DataError
from rate.registry import check_names


def expert_options(spec: EnvSpec, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the expert: the given ones over its defaults."""
    check_names(options, spec.expert_defaults, f"option of the expert of {spec.name}:")
    return {**spec.expert_defaults, **options}


def dataset_name(spec: EnvSpec, request: CollectRequest) -> str:
    """A directory name that no other request shares."""
    identity = {
        "environment": spec.name,
        "options": expert_options(spec, request.kwargs),
        "episodes": request.episodes,
        "seed": request.seed,
        "facts": sorted(spec.oracle),
        "version": VERSION,
    }
    try:
        text = json.dumps(identity, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"options of the expert of {spec.name} must be JSON values: {error}") from error
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", spec.name).strip("-").lower()
    return f"{slug}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def collect(
    spec: EnvSpec,
    request: CollectRequest,
    path: Path | str,
    on_episode: Callable[[int, int], None] | None = None,
) -> TrajectoryStore:
    """Run the expert and store its episodes; `on_episode(done, total)` is called after each."""
    if request.episodes <= 0:
        raise ConfigError(f"episodes must be positive, got {request.episodes}")
    if spec.expert is None:
        raise ConfigError(f"nobody demonstrates {spec.name}; train on data of your own: --data PATH")
    request = replace(request, kwargs=expert_options(spec, request.kwargs))
    writer = StoreWriter(
        path,
        spaces=spaces_of(spec, **_environment_options(spec, request.kwargs)),
        environment=spec.name,
        options=request.kwargs,
        generator=f"expert of {spec.name}, {request.episodes} episodes, seed {request.seed}",
    )
    with writer:
        done = 0
        for done, trajectory in enumerate(spec.expert(request), start=1):
            writer.add(trajectory)
            if on_episode is not None:
                on_episode(done, request.episodes)
        if done != request.episodes:
            raise DataError(f"the expert of {spec.name} gave {done} episodes where {request.episodes} were asked for")
    return TrajectoryStore.open(path, check=False)


def _environment_options(spec: EnvSpec, options: Mapping[str, Any]) -> dict[str, Any]:
    """The expert options that the environment takes too, since its spaces may depend on them."""
    names = inspect.signature(spec.make).parameters
    return {name: value for name, value in options.items() if name in names}
