"""Collects a data set in parts: by several processes, and on from where it was stopped.

Complete parts stand in a hidden directory beside the target until all are there. Then they are joined and moved.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rate.data.collect import OnEpisode, check_request, collect, dataset_name, join, parts_of
from rate.data.columns import disk_errors
from rate.data.place import check_free, hidden, hold, made_aside, move, sweep
from rate.data.store import TrajectoryStore, is_store
from rate.envs import ENVS
from rate.envs.spec import CollectRequest, EnvSpec
from rate.errors import ConfigError, DataError, RateError
from rate.experiment.executors import Executor, Work
from rate.plugins import importer
from rate.system.signals import Interrupted
from rate.system.workers import in_processes, report

OFTEN = 0.1
"""Seconds after which a worker reports its episodes again."""

Add = Callable[[int], None]
"""Receives how many episodes have been added."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be collected. Any number of workers do one job: each takes the next part that is not taken."""

    spec: EnvSpec | str
    """A name where the value cannot be sent to another process."""
    request: CollectRequest
    place: Path
    """Holds the parts that are complete."""
    attempt: Path
    """Holds those that are being made, each in a directory that its worker has made to claim it."""

    def part(self, episodes: range) -> Path:
        return self.place / f"part-{episodes.start:09d}-{episodes.stop:09d}"

    def complete(self) -> list[range]:
        return [episodes for episodes in parts_of(self.request) if is_store(self.part(episodes))]


def collect_to(
    spec: EnvSpec,
    request: CollectRequest,
    path: Path,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    on_episode: OnEpisode | None = None,
) -> None:
    """Collect a data set at a free place; if another process is collecting it there, wait for that one.

    The files are the same, byte by byte, for every number of workers (0: one per core) and after any interruption. An
    `executor` takes the place of workers: it makes the parts, on other machines perhaps.
    """
    if workers < 0:
        raise ConfigError(f"workers is {workers}; it must not be negative")
    request = check_request(spec, request)
    place = hidden(path, f"{dataset_name(spec, request)[-12:]}.parts")
    if is_store(path):
        sweep(place)
        sweep(hidden(path, "making"))
    check_free(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if len(parts_of(request)) == 1:
        _collect_at_once(spec, request, path, on_episode)
        return

    def on_wait() -> None:
        if on_episode is not None:
            on_episode(_episodes(Job(spec=spec, request=request, place=place, attempt=place)), request.episodes)

    with hold(place, on_wait):
        _collect_in_parts(spec, request, path, place, executor or workers or os.cpu_count() or 1, on_episode)


def _collect_at_once(spec: EnvSpec, request: CollectRequest, path: Path, on_episode: OnEpisode | None) -> None:
    try:
        with made_aside(path) as made:
            collect(spec, request, made, on_episode)
    except DataError:
        if not is_store(path):  # else another process was faster
            raise


def _collect_in_parts(
    spec: EnvSpec,
    request: CollectRequest,
    path: Path,
    place: Path,
    workers: int | Executor,
    on_episode: OnEpisode | None,
) -> None:
    """Make the parts that are missing, join all, move; the place is held by this process alone."""
    for left in place.glob("attempt-*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    attempt = Path(tempfile.mkdtemp(prefix="attempt-", dir=place))
    job = Job(spec=spec, request=request, place=place, attempt=attempt)
    try:
        if not is_store(path):
            _drop_damaged(job)
            _make_parts(job, workers, _counter(_episodes(job), request.episodes, on_episode))
            join(spec, request, map(job.part, parts_of(request)), attempt / "joined")
            move(attempt / "joined", path)
    except KeyboardInterrupt:
        kept = _episodes(job)
        if not kept:
            raise
        again = "start the same collection again to go on"
        raise Interrupted(f"stopped; {kept} of {request.episodes} episodes are kept, {again}") from None
    finally:
        nothing_left = is_store(path) or not job.complete()
        shutil.rmtree(place if nothing_left else attempt, ignore_errors=True)


def _episodes(job: Job) -> int:
    return sum(map(len, job.complete()))


def _counter(done: int, total: int, on_episode: OnEpisode | None) -> Add:
    """Adds up what all workers report."""

    def add(count: int) -> None:
        nonlocal done
        done += count
        if on_episode is not None:
            on_episode(done, total)

    if done:
        add(0)
    return add


def _drop_damaged(job: Job) -> None:
    """Parts do not wait for the disk, so a power cut may have left one whose content is not there."""
    for episodes in job.complete():
        try:
            TrajectoryStore.open(job.part(episodes))
        except DataError:
            shutil.rmtree(job.part(episodes))


def _make_parts(job: Job, workers: int | Executor, add: Add) -> None:
    done, sent = job.complete(), _sendable(job)
    missing = [episodes for episodes in parts_of(job.request) if episodes not in done]
    jobs = min(workers, len(missing)) if isinstance(workers, int) else 1
    if not isinstance(workers, int) and sent is not None:
        _hand_out([Part(job=sent, episodes=episodes) for episodes in missing], workers, add)
    elif jobs > 1 and sent is not None:
        in_processes(
            _in_worker,
            [sent] * jobs,
            jobs=jobs,
            threads=1,
            on_report=add,
            on_end=_raise,
            lost=_lost,
            set_up=importer(),
        )
    _work(job, add)  # all of it, or what no worker could do


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of a job, for an executor that may begin it again."""

    job: Job
    episodes: range


def _hand_out(parts: list[Part], executor: Executor, add: Add) -> None:
    def end(part: Part, reason: Exception | None) -> None:
        _raise(part.job, reason)
        add(len(part.episodes))

    def lost(part: Part, code: int | None) -> Exception:
        return _lost(part.job, code)

    executor.run(Work(tasks=parts, do=_in_task, on_start=lambda _: None, on_end=end, lost=lost))


def _in_task(part: Part) -> Exception | None:
    """Collect one part; what goes wrong is the result."""
    return _told(lambda: _make(part.job, part.episodes, Path(tempfile.mkdtemp(dir=part.job.attempt)), lambda _: None))


def _sendable(job: Job) -> Job | None:
    """The job as another process can read it; None where its environment has no name and cannot be sent."""
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError):
        assert isinstance(job.spec, EnvSpec)
        return replace(job, spec=job.spec.name) if job.spec.name in ENVS else None
    return job


def _work(job: Job, add: Add) -> None:
    """Collect every part that is not taken."""
    if isinstance(job.spec, str) and job.spec not in ENVS:
        return  # it was registered by a program that this process has not run: the first process does the job
    for episodes in parts_of(job.request):
        claim = job.attempt / job.part(episodes).name
        if is_store(job.part(episodes)):
            continue
        try:
            claim.mkdir()
        except FileExistsError:
            continue
        _make(job, episodes, claim, add)


def _make(job: Job, episodes: range, claim: Path, add: Add) -> None:
    """Collect one part in a directory of its own, and move it."""
    spec = job.spec if isinstance(job.spec, EnvSpec) else ENVS.get(job.spec)
    request = replace(job.request, part=episodes)
    collect(spec, request, claim / "made", lambda done, total: add(1), sync=False)
    os.rename(claim / "made", job.part(episodes))


def _in_worker(job: Job) -> Exception | None:
    """As `_work`; what goes wrong is the result."""
    add, rest = _throttled(report)

    def work() -> None:
        _work(job, add)
        rest()

    return _told(work)


def _told(work: Callable[[], None]) -> Exception | None:
    try:
        work()
    except (RateError, OSError) as reason:
        return reason
    except Exception as defect:
        traceback.print_exc()  # the line alone would not help to find it
        return RuntimeError(f"a worker failed: {type(defect).__name__}: {defect}")
    return None


def _throttled(report: Add) -> tuple[Add, Callable[[], None]]:
    """Reports sums at intervals, since a fast expert gives thousands of episodes a second, and the rest at the end."""
    count, last = 0, time.monotonic()

    def rest() -> None:
        nonlocal count, last
        report(count)
        count, last = 0, time.monotonic()

    def add(more: int) -> None:
        nonlocal count
        count += more
        if time.monotonic() - last >= OFTEN:
            rest()

    return add, rest


def _raise(job: Job, reason: Exception | None) -> None:
    if reason is not None:
        raise reason


def _lost(job: Job, code: int | None) -> Exception:
    ended = f"a worker that collected parts of {job.place} ended with code {code} and said nothing"
    return DataError(f"{ended}; what is complete is kept: start again, with fewer workers if memory was short")
