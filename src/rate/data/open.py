"""Opens whatever the user names as data: a store, a Minari directory, minari:<id> or the id alone.

Minari data is converted once into a store under the cache directory.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from rate.data.minari import data_directory, load_minari
from rate.data.store import TrajectoryStore, is_store
from rate.errors import DataError
from rate.system.files import shown

PREFIX = "minari:"
MINARI_ID = re.compile(r"(?:[\w-]+/)*[\w.-]+-v\d+")


def open_data(source: str | Path, cache_dir: str | Path) -> TrajectoryStore:
    """Open a data set; DataError if the source is none."""
    if not isinstance(source, (str, Path)) or not str(source) or "\0" in str(source):
        raise DataError(f"no data set {shown(source)!r}; give its directory, or the id of a Minari data set")
    text = full_name(str(source))
    if text.startswith(PREFIX):
        name = text.removeprefix(PREFIX)
        return load_minari(name, Path(cache_dir) / _cache_name(name))
    if not is_store(text) and data_directory(text) is not None:
        return load_minari(text, Path(cache_dir) / _cache_name(str(Path(text).resolve())))
    return TrajectoryStore.open(text)


def full_name(source: str) -> str:
    """The name of data with the prefix that the id of a Minari data set may be written without."""
    bare = MINARI_ID.fullmatch(source) is not None and not Path(source).exists()
    return f"{PREFIX}{source}" if bare else source


def _cache_name(name: str) -> str:
    if not name:
        raise DataError(f"{PREFIX} needs the id of a data set, for example {PREFIX}mujoco/hopper/medium-v0")
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[-60:]
    return f"minari-{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
