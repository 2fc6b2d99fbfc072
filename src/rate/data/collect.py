"""Collects a data set from the expert of an environment, at once or in parts that are joined.

A request names its data set: the same request gives the same name, another one gives another. Parts or not, the files
are the same, byte by byte.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rate.data.store import TrajectoryStore
from rate.data.writer import VERSION, StoreWriter
from rate.envs.spec import CollectRequest, EnvSpec, spaces_of
from rate.errors import ConfigError, DataError
from rate.registry import check_names

PART = 250
"""Episodes of a part: seconds of work for a slow expert, little overhead for a fast one."""
MOST_EPISODES = 10**9
"""Of a data set; more would fill the memory with the list of its parts."""

OnEpisode = Callable[[int, int], None]


def expert_options(spec: EnvSpec, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the expert: the given ones over its defaults."""
    check_names(options, spec.expert_defaults, f"option of the expert of {spec.name}:")
    return {**spec.expert_defaults, **options}


def dataset_name(spec: EnvSpec, request: CollectRequest) -> str:
    """A directory name that no other request shares."""
    identity = {
        "environment": spec.name,
        # An option that is None is off: one may join the others without giving old data another name.
        "options": {name: value for name, value in expert_options(spec, request.kwargs).items() if value is not None},
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


def check_request(spec: EnvSpec, request: CollectRequest) -> CollectRequest:
    """The request with all options of the expert; refused if it has no expert."""
    if request.episodes <= 0:
        raise ConfigError(f"episodes must be positive, got {request.episodes}")
    if request.episodes > MOST_EPISODES:
        raise ConfigError(f"episodes is {request.episodes}; it must be at most {MOST_EPISODES}")
    if spec.expert is None:
        raise ConfigError(f"nobody demonstrates {spec.name}; train on data of your own: --data PATH")
    return replace(request, kwargs=expert_options(spec, request.kwargs))


def collect(
    spec: EnvSpec,
    request: CollectRequest,
    path: Path | str,
    on_episode: OnEpisode | None = None,
    *,
    sync: bool = True,
) -> TrajectoryStore:
    """Run the expert and store its episodes; `on_episode(done, total)` follows each. `sync`: see StoreWriter."""
    request = check_request(spec, request)
    assert spec.expert is not None
    asked, done = len(request.indices), 0
    with _writer(spec, request, path, sync) as writer:
        for done, trajectory in enumerate(spec.expert(request), start=1):
            writer.add(trajectory)
            if on_episode is not None:
                on_episode(done, asked)
        if done != asked:
            raise DataError(f"the expert of {spec.name} gave {done} episodes where {asked} were asked for")
    return TrajectoryStore.open(path, check=False)


def parts_of(request: CollectRequest) -> list[range]:
    """The parts in which a data set is collected; they depend on the request alone."""
    return [range(at, min(at + PART, request.episodes)) for at in range(0, request.episodes, PART)]


def join(spec: EnvSpec, request: CollectRequest, parts: Iterable[Path], path: Path | str) -> None:
    """Write the data set whose parts, in order, are complete: the one that `collect` would write."""
    with _writer(spec, check_request(spec, request), path, sync=True) as writer:
        for part in parts:
            for trajectory in TrajectoryStore.open(part, check=False):
                writer.add(trajectory)


def _writer(spec: EnvSpec, request: CollectRequest, path: Path | str, sync: bool) -> StoreWriter:
    spaces = spaces_of(spec, **_environment_options(spec, request.kwargs))
    return StoreWriter(
        path,
        spaces=spaces,
        environment=spec.name,
        options=request.kwargs,
        generator=f"expert of {spec.name}, {request.episodes} episodes, seed {request.seed}",
        sync=sync,
        frame_stack={"observations": (spaces.observation.shape or (0,))[0]} if spec.stacks_frames else None,
    )


def _environment_options(spec: EnvSpec, options: Mapping[str, Any]) -> dict[str, Any]:
    """The expert options that the environment takes too, since its spaces may depend on them."""
    names = inspect.signature(spec.make).parameters
    return {name: value for name, value in options.items() if name in names}
