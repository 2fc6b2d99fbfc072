"""Data: trajectories on disk, where they come from, and the windows that training reads.

`collect.collect` or `open_data` give a `TrajectoryStore`; `Windows` cuts it into batches.
"""

from rate.data.collect import dataset_name
from rate.data.config import DataConfig
from rate.data.minari import load_minari
from rate.data.minari_export import export_minari
from rate.data.open import open_data
from rate.data.returns import returns_to_go
from rate.data.space_json import same_space, space_from_json, space_to_json
from rate.data.store import StoreWriter, TrajectoryStore
from rate.data.windows import Windows, split_episodes

__all__ = [
    "DataConfig",
    "StoreWriter",
    "TrajectoryStore",
    "Windows",
    "dataset_name",
    "export_minari",
    "load_minari",
    "open_data",
    "returns_to_go",
    "same_space",
    "space_from_json",
    "space_to_json",
    "split_episodes",
]
