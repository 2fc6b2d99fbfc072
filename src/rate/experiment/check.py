"""What would break training on a data set, and what would make it useless, found before an hour is spent on it.

Damaged files, values that are not finite and classes that do not exist are found when the data is opened.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from rate.data.store import TrajectoryStore
from rate.envs.spec import EnvSpec
from rate.errors import ConfigError
from rate.evaluation.evaluator import EvalConfig
from rate.experiment.data import misfits, shares_seeds
from rate.experiment.outliers import outliers
from rate.models import MODELS
from rate.types import Array, Trajectory, tree_leaves

ENOUGH = 20
"""Episodes below which little can be learnt and nothing can be judged."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """One line each."""

    breaks: list[str] = field(default_factory=list)
    """Training on the data, or evaluation in the environment, would fail."""
    notes: list[str] = field(default_factory=list)
    """It would work, but perhaps not as the user thinks."""


def check_data(store: TrajectoryStore, spec: EnvSpec | None = None) -> Findings:
    """Look at the spaces and at every episode."""
    breaks = misfits(store, spec) if spec else []
    try:
        MODELS.get("rate")(3).build(store.spaces)
    except ConfigError as reason:
        breaks.append(str(reason))
    short = [*_lengths(store), *_returns(store)]  # first: returns that are not finite are refused here
    return Findings(breaks=breaks, notes=[*short, *_look(store), *outliers(store), *_seeds(store)])


def _lengths(store: TrajectoryStore) -> list[str]:
    single, count = int((store.lengths == 1).sum()), len(store)
    which = "every episode has" if single == count else f"{single} of {count} episodes have"
    found = [f"{which} one step; a step alone teaches no memory"] if single else []
    few = f"there are only {count} episodes; expect little, and no figure to be sure of"
    return [*found, few] if count < ENOUGH else found


def _returns(store: TrajectoryStore) -> list[str]:
    low, high = float(store.returns.min()), float(store.returns.max())
    if low < high:
        return []
    return [f"every episode returns {low:g}; to ask for a return has no effect, the policy imitates all episodes alike"]


def _seeds(store: TrajectoryStore) -> list[str]:
    if not shares_seeds(store, EvalConfig()):
        return []
    return ["the data holds seeds that evaluation uses by default; evaluate with another eval.seed"]


def _look(store: TrajectoryStore) -> list[str]:
    """One pass over all episodes."""
    seen: Counter[bytes] = Counter()
    counts: Counter[str] = Counter()
    first = store[0].actions[0]
    for episode in store:
        seen[_digest(episode)] += 1
        ended = episode.terminations | episode.truncations
        counts["open"] += not ended[-1]
        counts["glued"] += bool(ended[:-1].any())
        counts["outside"] += _outside(episode.actions, store.spaces.action)
        counts["other"] += bool((episode.actions != first).any())
    texts = {
        "open": "are neither terminated nor truncated at their last step; they count as truncated",
        "glued": "go on after a step that terminated or truncated them; perhaps several episodes were put together",
        "outside": "hold actions outside of the bounds of their space; acting cuts to the bounds",
    }
    found = [f"{counts[name]} of {len(store)} episodes {text}" for name, text in texts.items() if counts[name]]
    if not counts["other"]:
        found.append(f"every action is {first}; there is nothing to choose")
    copies = len(store) - len(seen)
    copied = f"{copies} of {len(store)} episodes are copies of others; so may held-out ones be of trained ones"
    return [*found, copied] if copies else found


def _digest(episode: Trajectory) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for rows in [*tree_leaves(episode.observations), episode.actions, episode.rewards]:
        digest.update(np.ascontiguousarray(rows).tobytes())
    return digest.digest()


def _outside(actions: Array, space: gym.Space[Any]) -> bool:
    return isinstance(space, gym.spaces.Box) and bool(((actions < space.low) | (actions > space.high)).any())
