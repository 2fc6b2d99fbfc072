"""Work on the machines of a Ray cluster: one task of Ray for each, begun again where its machine or process is lost.

All machines see one directory, and locks in it reach from machine to machine: both are tried, not trusted.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from rate.errors import ConfigError, MissingExtraError
from rate.experiment.executors import Work
from rate.plugins import importer
from rate.system.files import shown
from rate.system.lock import held

LOOK = 1.0
"""Seconds between two looks at what the machines do."""
ANSWER = 5.0
"""Seconds in which a cluster must answer; Ray itself would wait for minutes."""
BUSY = 60.0
"""Seconds for which a task waits for an attempt that was lost but still lives: its machine may only be cut off."""
SAVING = 120.0
"""Seconds that tasks have to save when the work is stopped."""
LOCK = "lock"
"""In the desk: held by the process that hands out the work."""


@dataclass(frozen=True, kw_only=True)
class OnRay:
    """Every task as one of Ray's, with its CPUs and GPUs."""

    shared: Path
    """A directory that all machines see."""
    address: str = ""
    """host:port of the cluster; empty: $RAY_ADDRESS, else that of this machine, started if there is none."""
    cpus: float = 1
    gpus: float = 0
    """Of each task."""
    threads: int = 0
    """Of torch in each task; 0: its CPUs."""
    retries: int = 3
    """How often a task is begun again whose machine or process was lost."""
    fresh: bool = True
    """Whether each task has a process of its own; else one does several, and torch is imported once for them."""

    def run(self, work: Work[Any, Any]) -> None:
        if not work.tasks:
            return
        with self._connected() as ray, _desk(self.shared) as desk:
            self._check_room(ray)
            _Round(self, work, ray, desk).run()

    @contextmanager
    def _connected(self) -> Iterator[ModuleType]:
        ray = imported()
        if ray.is_initialized():  # by the program that calls
            yield ray
            return
        address = self.address or os.environ.get("RAY_ADDRESS", "")
        check_answers(address)
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is sent anywhere
        try:
            ray.init(address=address or None, logging_level="ERROR", log_to_driver=False)
        except (ConnectionError, RuntimeError, ValueError) as reason:
            raise ConfigError(f"no cluster of Ray at {shown(address or 'this machine')}: {shown(reason)}") from None
        try:
            yield ray
        finally:
            ray.shutdown()

    def _check_room(self, ray: ModuleType) -> None:
        """What no machine has would be waited for without end."""
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(self._fits(machine) for machine in machines):
            raise ConfigError(f"no machine of the cluster has {self.cpus:g} CPUs and {self.gpus:g} GPUs for a run")

    def _fits(self, machine: Mapping[str, float]) -> bool:
        return machine.get("CPU", 0) >= self.cpus and machine.get("GPU", 0) >= self.gpus


def imported() -> ModuleType:
    """Ray, which not everyone has."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    return ray


def check_answers(address: str) -> None:
    """Refuse an address where nobody listens, or that is none."""
    if not address or address in ("auto", "local"):
        return
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 2**16):
        raise ConfigError(f"--ray takes the address of a cluster as host:port, not {shown(address)!r}")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER).close()
    except OSError as reason:
        why = f"{reason.strerror or reason}; start one there: ray start --head --port {port}"
        raise ConfigError(f"no cluster of Ray answers at {shown(address)}: {why}") from None


@contextmanager
def _desk(shared: Path) -> Iterator[Path]:
    """A hidden directory where tasks leave word, with a lock that they must find taken."""
    shared.mkdir(parents=True, exist_ok=True)
    desk = Path(tempfile.mkdtemp(prefix=".ray-", dir=shared.absolute()))
    try:
        with held(desk / LOCK):
            yield desk
    finally:
        shutil.rmtree(desk, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class _Errand:
    """What a machine is to do, and what it must be told to do it as this one would."""

    do: Callable[[Any], Any]
    busy: Callable[[Any], bool]
    task: Any
    desk: Path
    word: str
    """The file in the desk that says that it has begun."""
    again: bool
    """Whether it was begun before and lost."""
    threads: int
    directory: Path
    data: str | None
    set_up: Callable[[], None]


@dataclass(frozen=True)
class _Refused:
    """Why a machine does not begin."""

    reason: str


def _run(errand: _Errand) -> Any:
    """In a process of the cluster: the same directory, data and threads, then the work."""
    refused = _unfit(errand)
    if refused is not None:
        return refused
    os.chdir(errand.directory)
    if errand.data is not None:
        os.environ["RATE_DATA"] = errand.data
    torch.set_num_threads(errand.threads)
    errand.set_up()
    (errand.desk / errand.word).write_text(socket.gethostname())
    result, until = errand.do(errand.task), time.monotonic() + BUSY
    while errand.again and errand.busy(result) and time.monotonic() < until:
        time.sleep(LOOK)
        result = errand.do(errand.task)
    return result


def _unfit(errand: _Errand) -> _Refused | None:
    machine = socket.gethostname()
    for directory, known_as in ((errand.desk, errand.desk.parent), (errand.directory, errand.directory)):
        if not directory.is_dir():
            return _Refused(f"{machine} does not see {known_as} of this machine; both must be on a shared disk")
    with held(errand.desk / LOCK) as ours:
        if ours:
            where = errand.desk.parent
            return _Refused(f"locks in {where} do not reach {machine}, so runs could be written twice; share another")
    return None


@dataclass
class _Attempt:
    task: Any
    number: int
    count: int = 0
    begun: bool = False

    @property
    def word(self) -> str:
        return f"{self.number}-{self.count}"


class _Round:
    """All tasks once: what was handed out, and what came back."""

    def __init__(self, executor: OnRay, work: Work[Any, Any], ray: ModuleType, desk: Path) -> None:
        self.executor, self.work, self.ray, self.desk = executor, work, ray, desk
        own = {"num_cpus": executor.cpus, "num_gpus": executor.gpus, "max_retries": 0}
        own["max_calls"] = 1 if executor.fresh else 0
        self.remote = ray.remote(**own)(_run)
        self.active: dict[Any, _Attempt] = {}

    def run(self) -> None:
        try:
            for number, task in enumerate(self.work.tasks):
                self._hand_out(_Attempt(task, number))
            while self.active:
                ready, _ = self.ray.wait(list(self.active), timeout=LOOK)
                self._note_begun()
                for reference in ready:
                    self._take_back(reference)
        except BaseException:
            self._stop()
            raise

    def _hand_out(self, attempt: _Attempt) -> None:
        executor = self.executor
        errand = _Errand(
            do=self.work.do,
            busy=self.work.busy,
            task=attempt.task,
            desk=self.desk,
            word=attempt.word,
            again=attempt.count > 0,
            threads=executor.threads or max(1, int(executor.cpus)),
            directory=Path.cwd(),
            data=os.environ.get("RATE_DATA"),
            set_up=importer(),
        )
        self.active[self.remote.remote(errand)] = attempt

    def _note_begun(self) -> None:
        for attempt in self.active.values():
            if not attempt.begun and (self.desk / attempt.word).exists():
                self._begin(attempt)

    def _begin(self, attempt: _Attempt) -> None:
        attempt.begun = True
        self.work.on_start(attempt.task)

    def _take_back(self, reference: Any) -> None:
        attempt, errors = self.active.pop(reference), self.ray.exceptions
        try:
            result = self.ray.get(reference)
        except errors.RayTaskError as defect:  # the work itself does not raise: its machine cannot even begin it
            raise ConfigError(f"a machine of the cluster cannot do its work: {shown(defect.cause)}") from None
        except errors.RayError:
            self._lose(attempt)
            return
        if isinstance(result, _Refused):
            raise ConfigError(result.reason)
        self._end(attempt, result)

    def _lose(self, attempt: _Attempt) -> None:
        if attempt.count >= self.executor.retries:
            self._end(attempt, self.work.lost(attempt.task, None))
            return
        self.work.on_again(attempt.task)
        attempt.count += 1
        self._hand_out(attempt)

    def _end(self, attempt: _Attempt, result: Any) -> None:
        if not attempt.begun:
            self._begin(attempt)
        self.work.on_end(attempt.task, result)

    def _stop(self) -> None:
        """As Ctrl-C in each: they save and leave."""
        for reference in self.active:
            self.ray.cancel(reference)
        if self.active:
            self.ray.wait(list(self.active), num_returns=len(self.active), timeout=SAVING)
