"""A damaged, incomplete or foreign data set is refused in one line that says what to do."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rate.data.columns import crc32
from rate.data.store import TrajectoryStore

FOUR = {"type": "Discrete", "n": 4, "start": 0, "dtype": "int64"}


def edit_card(store: TrajectoryStore, **changes: Any) -> None:
    card = json.loads((store.path / "card.json").read_text())
    (store.path / "card.json").write_text(json.dumps({**card, **changes}))


def renew_checksum(store: TrajectoryStore, path: Path) -> None:
    """Make the card agree with a file of the first shard that was changed."""
    card = json.loads((store.path / "card.json").read_text())
    card["shards"][0]["files"][path.name] = {"size": path.stat().st_size, "crc32": crc32(path)}
    edit_card(store, **card)


def test_not_a_data_set(one_line: Any, tmp_path: Path) -> None:
    one_line(lambda: TrajectoryStore.open(tmp_path), "is not a data set", "no card.json")
    one_line(lambda: TrajectoryStore.open(tmp_path / "nowhere"), "no such directory")


@pytest.mark.parametrize("check", [True, False])
def test_truncated_column(one_line: Any, check: bool, vector_store: TrajectoryStore) -> None:
    path = vector_store.path / "shard-00001" / "observations.npy"
    os.truncate(path, path.stat().st_size // 2)
    one_line(lambda: TrajectoryStore.open(vector_store.path, check), "observations.npy has", "again")


def test_flipped_byte(one_line: Any, vector_store: TrajectoryStore) -> None:
    path = vector_store.path / "shard-00001" / "actions.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    one_line(lambda: TrajectoryStore.open(vector_store.path), "actions.npy is damaged", "checksum")


def test_nan_behind_a_right_checksum(one_line: Any, vector_store: TrajectoryStore) -> None:
    path = vector_store.path / "shard-00000" / "observations.npy"
    values = np.load(path)
    values[2, 1] = np.nan
    np.save(path, values)
    renew_checksum(vector_store, path)
    one_line(lambda: TrajectoryStore.open(vector_store.path), "shard-00000 is damaged", "not finite")


def test_offsets_that_do_not_fit(one_line: Any, vector_store: TrajectoryStore) -> None:
    path = vector_store.path / "shard-00000" / "offsets.npy"
    np.save(path, np.load(path)[::-1])
    renew_checksum(vector_store, path)
    one_line(lambda: TrajectoryStore.open(vector_store.path), "offsets.npy does not agree")


def test_missing_parts(one_line: Any, vector_store: TrajectoryStore) -> None:
    (vector_store.path / "shard-00002" / "rewards.npy").unlink()
    one_line(lambda: TrajectoryStore.open(vector_store.path), "rewards.npy is missing")
    shutil.rmtree(vector_store.path / "shard-00001")
    one_line(lambda: TrajectoryStore.open(vector_store.path), "shard-00001 is missing")


def test_pickles_are_never_read(one_line: Any, vector_store: TrajectoryStore) -> None:
    path = vector_store.path / "shard-00000" / "rewards.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    renew_checksum(vector_store, path)
    one_line(lambda: TrajectoryStore.open(vector_store.path), "not a readable .npy file")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 99}, "format version 99"),
        ({"format": "other"}, "not the card of a data set"),
        ({"episodes": 4}, "does not hold the episodes"),
        ({"episodes": 0, "shards": []}, "does not hold the episodes"),
        ({"shards": [{}]}, "card.json cannot be read: 'name' is missing"),
        ({"spaces": {"observation": {"type": "Cone"}}}, "not a description of a space"),
        ({"spaces": {"observation": FOUR, "action": FOUR}}, "is damaged: observations"),
    ],
)
def test_bad_card(one_line: Any, changes: dict[str, Any], words: str, vector_store: TrajectoryStore) -> None:
    edit_card(vector_store, **changes)
    one_line(lambda: TrajectoryStore.open(vector_store.path), words)


def test_card_that_is_not_json(one_line: Any, vector_store: TrajectoryStore) -> None:
    (vector_store.path / "card.json").write_text('{"format": ')
    one_line(lambda: TrajectoryStore.open(vector_store.path), "card.json cannot be read")
