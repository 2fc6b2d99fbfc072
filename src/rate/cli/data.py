"""`rate data`: what a data set holds, whether it can be trained on, and the way in and out of other formats."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import tyro

from rate.cli.commands import print_json
from rate.cli.console import OUT, note
from rate.data.distinct import distinct
from rate.data.importers import Format, import_data
from rate.data.minari_export import export_minari
from rate.data.open import open_data
from rate.data.store import TrajectoryStore
from rate.envs.find import find_env
from rate.envs.spec import spaces_of
from rate.experiment import data_root
from rate.experiment.check import check_data
from rate.system.files import shown

LONGEST = 2000
"""Characters of a line about a data set: descriptions of spaces are long."""
BINS = 10
BAR = 40
"""Characters of the longest bar of a histogram."""
CLASSES = 32
"""Discrete actions up to this many are counted one by one."""


def info(path: tyro.conf.Positional[str], *, json: bool = False) -> None:
    """Show what a data set holds.

    Args:
        path: Directory of a data set, a Minari directory, or the id of a Minari data set.
        json: Print JSON.
    """
    store = open_data(path, data_root())
    differing = distinct(store)
    facts = {
        "path": str(store.path),
        "environment": store.card.get("environment"),
        "episodes": len(store),
        "distinct": differing.counts if differing else None,
        "steps": int(store.lengths.sum()),
        "length": _spread(store.lengths),
        "return": _spread(store.returns),
        "observation_space": str(store.spaces.observation),
        "action_space": str(store.spaces.action),
        "options": store.card.get("options"),
        "dropped_infos": store.card.get("dropped_infos", []),
        "shards": len(store.shards),
    }
    charts = {"returns": _histogram(store.returns), "lengths": _histogram(store.lengths), **_actions(store)}
    if json:
        return print_json({**facts, "histograms": charts})
    for name, value in facts.items():
        OUT.print(f"{name.replace('_', ' ')}: {shown(_plain(value), LONGEST)}", markup=False)
    for name, chart in charts.items():
        OUT.print(f"\n{name}", *_bars(chart), sep="\n", markup=False)


def _spread(values: Any) -> dict[str, float]:
    return {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}


def _plain(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"min", "mean", "max"}:
        return f"{value['min']:g} to {value['max']:g}, mean {value['mean']:.4g}"
    if isinstance(value, (dict, list)):
        items = [f"{key}={item}" for key, item in value.items()] if isinstance(value, dict) else value
        return ", ".join(map(str, items)) or "none"
    return str(value)


def _histogram(values: Any) -> dict[str, int]:
    """Count by value where there are few values, else by equal ranges."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= BINS:
        return {f"{value:g}": int(count) for value, count in zip(distinct, counts, strict=True)}
    counts, edges = np.histogram(values, BINS)
    names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
    return dict(zip(names, counts.tolist(), strict=True))


def _actions(store: TrajectoryStore) -> dict[str, dict[str, int]]:
    space = store.spaces.action
    if not isinstance(space, gym.spaces.Discrete) or space.n > CLASSES:
        return {}
    counts = sum(np.bincount(shard.columns["actions"] - space.start, minlength=int(space.n)) for shard in store.shards)
    return {"actions": {str(int(space.start) + index): int(count) for index, count in enumerate(np.atleast_1d(counts))}}


def _bars(chart: dict[str, int]) -> Iterator[str]:
    wide, most = max(map(len, chart)), max(1, *chart.values())
    for name, count in chart.items():
        yield f"  {name:>{wide}} | {'#' * -(-BAR * count // most)} {count}"


def check(path: tyro.conf.Positional[str], *, env: str | None = None, json: bool = False) -> int:
    """Find what would break training on a data set, and what would make it useless, each in a line.

    The exit code is 2 if something would break.

    Args:
        path: Directory of a data set, a Minari directory, or the id of a Minari data set.
        env: The environment to evaluate in: a registered name, a Gymnasium id, or module:factory.
        json: Print JSON.
    """
    spec = find_env(env) if env else None
    store = open_data(path, data_root())
    found = check_data(store, spec)
    if json:
        print_json(asdict(found))
    else:
        for line in found.breaks:
            print(f"rate: {shown(line, LONGEST)}", file=sys.stderr)
        for line in found.notes:
            OUT.print(f"note: {shown(line, LONGEST)}", markup=False)
        if not found.breaks:
            OUT.print(f"nothing would break training on the {len(store)} episodes of {path}", markup=False)
    return 2 if found.breaks else 0


def import_file(
    source: tyro.conf.Positional[Path],
    *,
    out: Path,
    format: Format | None = None,
    env: str | None = None,
    allow_pickle_code: tyro.conf.FlagCreatePairsOff[bool] = False,
    json: bool = False,
) -> None:
    """Make a data set from a D4RL-style HDF5 file, an NPZ of flat arrays, or a pickled list of dicts.

    Args:
        source: File with observations, actions, rewards, the ends of episodes (terminals and timeouts, or dones, or
            offsets) and, if it has them, next_observations; or a directory: replay_logs of
            DQN-replay, or NPZ episodes of Memory Maze.
        out: Directory to make.
        format: By default the ending says it: .hdf5 .h5, .npz, .pkl .pickle.
        env: Take the spaces from this environment: a registered name, a Gymnasium id, or module:factory; by default
            they are inferred from the values.
        allow_pickle_code: Read a pickle. To unpickle is to run code from the file; all but NumPy arrays and plain
            values is refused here, and still: only from a source that you trust.
        json: Print JSON.
    """
    store = import_data(
        source,
        out,
        format=format,
        spaces=spaces_of(find_env(env)) if env else None,
        environment=env or "",
        allow_pickle=allow_pickle_code,
        on_note=note,
    )
    if json:
        facts = {"path": str(out), "episodes": len(store), "steps": int(store.lengths.sum())}
        return print_json({**facts, "dropped_infos": store.card["dropped_infos"]})
    OUT.print(f"{len(store)} episodes, {int(store.lengths.sum())} steps in {out}", markup=False)


def export(path: tyro.conf.Positional[str], dataset_id: tyro.conf.Positional[str]) -> None:
    """Write a data set as a local Minari data set, without loss.

    Args:
        path: Directory of a data set.
        dataset_id: Minari id, for example rate/tmaze/oracle-v0.
    """
    written = export_minari(open_data(path, data_root()), dataset_id)
    OUT.print(f"{dataset_id} in {written}")
