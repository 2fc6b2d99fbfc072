"""A suite on a cluster of Ray: the bits of local processes, whatever machine is lost on the way."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.tiny import assert_same_run, config, files
from rate.cli.main import main
from rate.config import RunConfig
from rate.errors import ConfigError
from rate.experiment import run_all
from rate.experiment.executors import Work
from rate.experiment.on_ray import OnRay

ray = pytest.importorskip("ray")

KILLED_AT, STEPS = 20, 80
LONGEST_WAIT = 240.0
SOON = {"health_check_period_ms": 1000, "health_check_failure_threshold": 4}
"""How fast Ray notes that a machine is gone."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three machines, each with one CPU, as far as Ray can tell."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)  # what these tests send is there
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": SOON})
        for _ in range(2):
            made.add_node(num_cpus=1)
        made.wait_for_nodes()
        yield made
        made.shutdown()


def runs(count: int) -> dict[str, RunConfig]:
    return {f"seed{seed}": config(seed=seed, steps=STEPS, checkpoint_every=10) for seed in range(count)}


def working_on(node: Any, out: Path) -> dict[int, Path]:
    """The processes of a machine that are at a run, by the locks that they hold."""
    raylet = node.all_processes["raylet"][0].process.pid
    children = " ".join(path.read_text() for path in Path(f"/proc/{raylet}/task").glob("*/children")).split()
    links = {(int(child), link) for child in children for link in Path(f"/proc/{child}/fd").iterdir()}
    opened = [(child, os.readlink(link)) for child, link in links if link.is_symlink()]
    return {child: Path(to).parent for child, to in opened if to.startswith(str(out)) and to.endswith("/.lock")}


def kept_step(run: Path) -> int:
    """Of the checkpoint from which a run would go on."""
    last = run / "checkpoints" / "last"
    return int(last.read_text().split()[0].removeprefix("step_")) if last.exists() else 0


def killed_in_mid_run(process: int, run: Path) -> bool:
    """Whether the process was killed while its run was half done; it is held still, for a run does not wait for us."""
    if not KILLED_AT <= kept_step(run) < STEPS:
        return False
    os.kill(process, signal.SIGSTOP)
    half_done = kept_step(run) < STEPS
    os.kill(process, signal.SIGKILL if half_done else signal.SIGCONT)
    return half_done


def kill_one(cluster: Any, out: Path) -> None:
    """A machine that is in the middle of a run is gone at once, and its processes with it."""
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until:
        for node in cluster.worker_nodes:
            with contextlib.suppress(OSError):  # a process that has just ended
                if any(killed_in_mid_run(process, run) for process, run in working_on(node, out).items()):
                    cluster.remove_node(node, allow_graceful=False)
                    return
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_a_machine_that_is_killed_in_mid_run_changes_no_bit(cluster: Any, tmp_path: Path) -> None:
    configs, out, kept, started = runs(4), tmp_path / "ray", list[int](), list[str]()

    def again(name: str) -> None:
        kept.append(kept_step(out / name))

    killer = threading.Thread(target=kill_one, args=(cluster, out))
    killer.start()
    executor = OnRay(address=cluster.address, shared=out, threads=1)
    outcomes = run_all(configs, out, executor=executor, on_start=started.append, on_again=again)
    killer.join()
    assert {name: outcome.state for name, outcome in outcomes.items()} == dict.fromkeys(configs, "done")
    assert sorted(started) == sorted(configs) and len(kept) == 1 and KILLED_AT <= kept[0] < STEPS
    assert not list(out.glob(".ray-*"))
    run_all(configs, tmp_path / "here", threads=1)
    for name in configs:
        assert_same_run(out / name, tmp_path / "here" / name)


def test_data_is_collected_on_the_cluster_byte_by_byte(cluster: Any, tmp_path: Path) -> None:
    words = ["collect", "tmaze", "--episodes", "600", "--set", "length=9", "--json"]
    assert main([*words, "--out", str(tmp_path / "there" / "set"), "--ray", cluster.address]) == 0
    assert main([*words, "--out", str(tmp_path / "here" / "set")]) == 0
    assert files(tmp_path / "there") == files(tmp_path / "here")


def ended(task: int) -> int:
    raise SystemExit(task)


def test_what_is_lost_every_time_is_given_up(cluster: Any, tmp_path: Path) -> None:
    told = list[Any]()
    work = Work(
        tasks=[7],
        do=ended,
        on_start=lambda task: told.append("start"),
        on_end=lambda task, result: told.append(result),
        lost=lambda task, code: "lost",
        on_again=lambda task: told.append("again"),
    )
    OnRay(address=cluster.address, shared=tmp_path, retries=1).run(work)
    assert sorted(told) == ["again", "lost", "start"] and told[-1] == "lost"


def test_a_directory_that_a_machine_does_not_see_is_refused(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """The machines of this cluster share every disk, so the directory is taken away."""
    monkeypatch.chdir(tmp_path)
    gone = OnRay(address=cluster.address, shared=tmp_path / "suite")
    hidden = Path.cwd
    monkeypatch.setattr(Path, "cwd", lambda: hidden() / "elsewhere")
    with pytest.raises(ConfigError, match="does not see"):
        run_all(runs(1), tmp_path / "suite", executor=gone)
    assert not list((tmp_path / "suite").iterdir())


def test_more_cpus_than_any_machine_has(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no machine of the cluster has 2 CPUs"):
        run_all(runs(1), tmp_path, executor=OnRay(address=cluster.address, shared=tmp_path, cpus=2))


@pytest.mark.parametrize(
    ("address", "line"),
    [("127.0.0.1:{free}", "no cluster of Ray answers at 127.0.0.1:"), ("nowhere", "takes the address of a cluster")],
)
def test_addresses_that_do_not_answer(
    address: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        there = address.format(free=taken.getsockname()[1])
        assert main(["suite", "tmaze-valves", "--run", "ca2/seed0", "--ray", there]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and line in said


def test_without_ray_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["suite", "tmaze-valves", "--ray", "--only", "*/seed0"]) == 2
    assert capsys.readouterr().err == "rate: ray is not installed; install it with: pip install 'rate-rl[ray]'\n"
