"""Data files with random damage: whatever they hold, the user gets one line, soon, or data that is in order.

Every mutation follows from its seed, so a failure can be repeated alone.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hostile_data as hostile
from integration import echo
from rate.data import export_minari, open_data
from rate.data.importers import import_data
from rate.data.spaces import space_from_json, space_to_json
from rate.data.store import TrajectoryStore
from rate.errors import RateError
from rate.experiment.check import check_data

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_sync")]
LONGEST = 5.0
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 10**40, -(10**40), 1e308, "nan", "", "..", "../../x", "a\x1b[2J" * 99, "x" * 5000,
    [], {}, [[]], {"type": "Box"}, [0] * 500, "int8", "object", "O", "module:Name-v0",
)  # fmt: skip


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    """A few other bytes, a piece that is gone, twice there or all alike, or the end cut off."""
    found = bytearray(content)
    for _ in range(min(len(found), rng.choice((1, 1, 2, 8)))):
        at, size = rng.randrange(len(found) or 1), rng.choice((1, 1, 2, 4, 8, 64))
        piece = found[at : at + size]
        found[at : at + size] = rng.choice(
            (rng.randbytes(len(piece)), bytes(len(piece)), b"\xff" * len(piece), b"", bytes(piece) * 2)
        )
    return bytes(found[: rng.randrange(len(found) or 1)]) if rng.random() < 0.1 else bytes(found)


def damaged_json(value: Any, rng: random.Random) -> Any:
    """Another value, or none, somewhere in it."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.15:
        deep = rng.random() < 0.05
        return json.loads("[" * 300 + "]" * 300) if deep else rng.choice(ODD)
    key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
    changed: Any = dict(value) if isinstance(value, dict) else list(value)
    if rng.random() < 0.1:
        del changed[key]
    elif isinstance(value, list) and rng.random() < 0.1:
        changed.append(value[key])
    else:
        changed[key] = damaged_json(value[key], rng)
    return changed


def damaged_text(text: str, rng: random.Random) -> bytes:
    """JSON text with another value, and now and then with other bytes."""
    if rng.random() < 0.15:
        return damaged_bytes(text.encode(), rng)
    return json.dumps(damaged_json(json.loads(text), rng)).encode()


def good_store() -> Path:
    return echo.write_store(Path("good"), echo.episodes(3))


def good_tree(path: Path) -> dict[str, Any]:
    columns = hostile.columns()
    seen = columns.pop("observations")
    return {**columns, "observations/a": seen, "observations/b/c": np.arange(hostile.STEPS), "infos/goal": seen}


def look(path: Path) -> None:
    """What `rate data check`, `rate train` and others do with a data set first."""
    check_data(open_data(path, "cache"))


def card(good: Path, rng: random.Random) -> Callable[[], Any]:
    (good / "card.json").write_bytes(damaged_text((good / "card.json").read_text(), rng))
    return lambda: look(good)


def column(good: Path, rng: random.Random) -> Callable[[], Any]:
    """With a card that agrees, so that nothing is found by its checksum."""
    path = rng.choice(sorted((good / "shard-00000").iterdir()))
    content = path.read_bytes()
    head = content[: content.index(b"\n") + 1]
    body = content[len(head) :]
    if rng.random() < 0.7:
        head = damaged_bytes(head, rng)
    else:
        body = damaged_bytes(body, rng)
    hostile.put_column(good, path.stem, head + body)
    return lambda: look(good)


def space(good: Path, rng: random.Random) -> Callable[[], Any]:
    made = damaged_json(space_to_json(TrajectoryStore.open(good).spaces.observation), rng)
    return lambda: space_to_json(space_from_json(made))


def npz(good: Path, rng: random.Random) -> Callable[[], Any]:
    np.savez(good / "log.npz", **good_tree(good))
    (good / "log.npz").write_bytes(damaged_bytes((good / "log.npz").read_bytes(), rng))
    return lambda: import_data(good / "log.npz", "imported")


def hdf5(good: Path, rng: random.Random) -> Callable[[], Any]:
    import h5py

    with h5py.File(good / "log.hdf5", "w", libver=rng.choice(("earliest", "latest"))) as file:
        for name, values in good_tree(good).items():
            file.create_dataset(name, data=values, chunks=rng.random() < 0.5 or None)
    (good / "log.hdf5").write_bytes(damaged_bytes((good / "log.hdf5").read_bytes(), rng))
    return lambda: import_data(good / "log.hdf5", "imported")


def _minari(good: Path) -> Path:
    shutil.rmtree("minari", ignore_errors=True)
    return export_minari(TrajectoryStore.open(good, check=False), "me/log-v0") / "data"


def metadata(good: Path, rng: random.Random) -> Callable[[], Any]:
    data = _minari(good)
    raw = json.loads((data / "metadata.json").read_text())
    inner = rng.choice(("", "rate", "observation_space", "action_space"))
    if inner == "observation_space":
        del raw["rate"]
    if inner:
        raw[inner] = damaged_text(raw[inner], rng).decode("latin1")
        (data / "metadata.json").write_text(json.dumps(raw))
    else:
        (data / "metadata.json").write_bytes(damaged_text(json.dumps(raw), rng))
    return lambda: look(data)


def main_data(good: Path, rng: random.Random) -> Callable[[], Any]:
    data = _minari(good)
    (data / "main_data.hdf5").write_bytes(damaged_bytes((data / "main_data.hdf5").read_bytes(), rng))
    return lambda: look(data)


KINDS: dict[Callable[[Path, random.Random], Callable[[], Any]], int] = {
    card: 300,
    column: 250,
    space: 300,
    npz: 150,
    hdf5: 150,
    metadata: 120,
    main_data: 80,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_damage_is_one_line(kind: Callable[[Path, random.Random], Callable[[], Any]], tmp_path: Path) -> None:
    pytest.importorskip("minari")
    source, outcomes = good_store(), Counter[str]()
    for seed in range(KINDS[kind]):
        for left in ("work", "imported", "cache"):
            shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(source, "work")
        call = kind(Path("work"), random.Random(f"{kind.__name__} {seed}"))
        start = time.perf_counter()
        try:
            call()
            outcomes["in order"] += 1
        except RateError as error:
            text = " ".join(str(error).split())
            assert text and text.isprintable() and len(text) < 1500, f"seed {seed}: {text[:300]!r}"
            outcomes["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"{kind.__name__}, seed {seed}: {type(error).__name__}: {error}") from error
        assert time.perf_counter() - start < LONGEST, f"seed {seed} took too long"
    assert sum(outcomes.values()) == KINDS[kind] and outcomes["refused"] > KINDS[kind] // 10, outcomes
    assert not Path("imported").exists() or TrajectoryStore.open("imported")
