"""What of an evaluation training had seen: the first observations of its episodes, kept with the run as digests.

Seeds of data and evaluation are apart; contents need not be, and a report says how far they are.
"""

from __future__ import annotations

from rate.config import RunConfig
from rate.data.distinct import Distinct, distinct
from rate.data.store import TrajectoryStore
from rate.errors import CheckpointError
from rate.experiment.data import chosen_episodes
from rate.system.files import read_json, write_json
from rate.training.run_dir import RunDir, disk_error

MOST_KEPT = 20_000
"""Digests, of 20 bytes each; where there are more, nothing is kept and nothing is compared."""


def training_episodes(config: RunConfig, store: TrajectoryStore) -> Distinct | None:
    """How the episodes that are trained on differ; None for large data."""
    return distinct(store, chosen_episodes(config.data, store)[0])


def keep_first(run: RunDir, found: Distinct | None) -> None:
    """Write down once what training sees first."""
    if found is None or len(found.first_observations) > MOST_KEPT or run.first_observations.exists():
        return
    try:
        write_json(run.first_observations, sorted(found.first_observations))
    except OSError as reason:
        raise disk_error(run.path, reason) from None


def known_first(run: RunDir | None) -> frozenset[str] | None:
    """Digests of what training saw first; None where that was not written down."""
    if run is None or not run.first_observations.exists():
        return None
    found = read_json(run.first_observations)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise CheckpointError(f"{run.first_observations} does not hold a list of digests; remove it")
    return frozenset(found)
