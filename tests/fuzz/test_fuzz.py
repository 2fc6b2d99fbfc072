"""Whatever a file holds, reading it ends in success or in a RateError, within seconds."""

from __future__ import annotations

import importlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from fuzz.artefacts import ARTEFACTS, Artefact
from fuzz.mutate import mutations
from rate.errors import RateError

for _module in ("fuzz.runs", "fuzz.data"):
    importlib.import_module(_module)

SECONDS = 5


class TooLongError(BaseException):
    """Not an Exception: no boundary may take it for damage of a file."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise where reading takes too long."""

    def stop(*_: object) -> None:
        raise TooLongError(f"it takes more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module", autouse=True)
def bounded() -> Iterator[None]:
    """A file that asks for too much memory must not take that of the other tests."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Artefact], Path]]:
    """The directory of an artefact, whole; made once for all artefacts of one maker."""
    torch.set_num_threads(1)
    places: dict[Any, Path] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATE_DATA", str(tmp_path_factory.mktemp("data")))

        def get(artefact: Artefact) -> Path:
            if artefact.make not in places:
                places[artefact.make] = tmp_path_factory.mktemp("fuzz") / "whole"
                artefact.make(places[artefact.make])
            return places[artefact.make]

        yield get


@pytest.mark.slow
@pytest.mark.parametrize("artefact", ARTEFACTS, ids=lambda artefact: artefact.name)
def test_reading_what_is_damaged(artefact: Artefact, made: Callable[[Artefact], Path], tmp_path: Path) -> None:
    place = Path(shutil.copytree(made(artefact), tmp_path / "damaged"))
    kept = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    whole, refused = kept[artefact.file(place)], 0
    for read in artefact.read:
        read(place)  # what is whole is read
    for number, damaged in enumerate(mutations(whole, artefact.count, seed=len(artefact.name))):
        artefact.file(place).write_bytes(damaged)
        if artefact.seal is not None and number % 2:
            artefact.seal(place)
        for read in artefact.read:
            refused += _refuses(read, place, f"{artefact.name}, mutation {number}")
        for path, content in kept.items():
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    assert refused > 0, "no mutation was noticed: the reader reads another file"


def _refuses(read: Callable[[Path], object], place: Path, what: str) -> bool:
    began = time.perf_counter()
    try:
        with limited():
            read(place)
    except RateError as error:
        assert str(error), what
        return True
    except BaseException as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {str(error)[:300]}") from error
    assert time.perf_counter() - began < SECONDS, what
    return False


def test_enough_is_damaged() -> None:
    assert sum(artefact.count for artefact in ARTEFACTS) >= 2600
