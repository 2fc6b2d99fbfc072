"""Several ranks train as one process does: the same batches, losses, gradients and files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from integration.tiny import metrics
from rate.errors import ConfigError, DivergedError
from rate.models import unroll
from rate.objectives import BehaviourCloning, Loss
from rate.training.progress import Progress
from rate.training.ranks import Ranks
from rate.training.trainer import Trainer
from rate.types import tree_map
from unit.training.making import trainer_of

WAIT = 60.0


class Sum:
    """Sums over ranks that are threads of this process."""

    def __init__(self, world: int) -> None:
        self.given: list[Tensor] = [torch.zeros(0)] * world
        self.barrier = threading.Barrier(world)

    def __call__(self, rank: int, tensor: Tensor) -> Tensor:
        self.given[rank] = tensor.detach().clone()
        self.barrier.wait(WAIT)
        total = torch.stack(self.given).sum(0)
        self.barrier.wait(WAIT)  # the next sum must not overwrite what another rank still reads
        return total


def ranks_of(world: int) -> list[Ranks]:
    together = Sum(world)
    return [Ranks(rank=rank, world=world, reduce=partial(together, rank)) for rank in range(world)]


SETTLED = {"dropout": 0.0, "memory_noise": 0.0}
"""Each rank draws its own numbers, so nothing is drawn."""
made = partial(trainer_of, model=SETTLED, steps=6, log_every=1, validate_every=2, batch_size=7)


def all_fit(trainers: list[Trainer]) -> list[Progress | BaseException]:
    """Every trainer in a thread of its own; what it returned, or what ended it."""
    ends: dict[int, Progress | BaseException] = {}

    def fit(rank: int) -> None:
        try:
            ends[rank] = trainers[rank].fit()
        except BaseException as reason:
            ends[rank] = reason

    threads = [threading.Thread(target=fit, args=(rank,)) for rank in range(len(trainers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [ends[rank] for rank in range(len(trainers))]


def logged(path: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in metrics(path)]


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_train_as_one_process_does(tmp_path: Path, world: int) -> None:
    alone = made(tmp_path / "alone")
    alone.fit()
    together = [made(tmp_path / "together", ranks=ranks) for ranks in ranks_of(world)]
    ends = all_fit(together)
    assert [end.step for end in ends if isinstance(end, Progress)] == [6] * world
    expected, found = logged(tmp_path / "alone"), logged(tmp_path / "together")
    assert len(expected) == len(found) > 6
    for one, other in zip(expected, found, strict=True):
        assert other == pytest.approx(one, abs=1e-5)
    for trainer in together:
        assert trainer.progress.best_loss == pytest.approx(alone.progress.best_loss, abs=1e-5)
        for name, weight in trainer.policy.state_dict().items():
            assert torch.equal(weight, together[0].policy.state_dict()[name]), name


def test_shares_with_fewer_real_steps_weigh_less(tmp_path: Path) -> None:
    """The mean of the means of two ranks is not the mean of the batch; the weighed sum is."""
    trainer = made(tmp_path / "run")
    whole = trainer.train.batch(0, 7)
    shares = [trainer.train.batch(0, 7, ranks.rows(7)) for ranks in ranks_of(2)]
    for rank, share in enumerate(shares):
        assert tree_equal(share, tree_map(lambda leaf, at=rank: leaf[at::2], whole))
    losses: list[Loss] = [trainer.objective(trainer.policy, window) for window in (whole, *shares)]
    weights = [int(loss.weight) for loss in losses]
    assert weights[0] == sum(weights[1:]) and weights[1] != weights[2]

    def both(tensor: Tensor) -> Tensor:
        return torch.tensor(float(weights[0]))

    weighed = [Ranks(world=2, reduce=both).weighed(loss) for loss in losses[1:]]
    assert float(sum(loss.total.detach() for loss in weighed)) == pytest.approx(
        float(losses[0].total.detach()), abs=1e-6
    )
    assert float(sum(loss.parts["accuracy"] for loss in weighed)) == pytest.approx(float(losses[0].parts["accuracy"]))


def tree_equal(one: Any, other: Any) -> bool:
    same: list[bool] = []
    tree_map(lambda a, b: same.append(bool((a == b).all())), one, other)
    return bool(same) and all(same)


def test_only_the_first_writes_logs_and_evaluates(tmp_path: Path) -> None:
    calls: list[int] = []

    def judge(rank: int) -> Callable[..., dict[str, float]]:
        return lambda *_: {"eval/return_mean": float(calls.append(rank) or 1.0)}

    together = [
        made(tmp_path / name, ranks=ranks, evaluate_every=3) for name, ranks in zip("ab", ranks_of(2), strict=True)
    ]
    for rank, trainer in enumerate(together):
        trainer.evaluate, trainer.on_step = judge(rank), lambda *_, at=rank: calls.append(at)
    all_fit(together)
    assert set(calls) == {0}
    assert (tmp_path / "a" / "checkpoints" / "last").exists() and metrics(tmp_path / "a")
    assert not (tmp_path / "b" / "checkpoints" / "last").exists() and not (tmp_path / "b" / "metrics.jsonl").exists()


def test_a_loss_that_one_rank_finds_infinite_ends_all(tmp_path: Path) -> None:
    together = [made(tmp_path / "run", ranks=ranks) for ranks in ranks_of(2)]

    class Broken(BehaviourCloning):
        def forward(self, *args: Any) -> Loss:
            loss = super().forward(*args)
            return replace(loss, total=loss.total + torch.inf)

    together[1].objective = Broken(unroll)
    assert [type(end) for end in all_fit(together)] == [DivergedError, DivergedError]


def test_a_signal_that_one_rank_receives_stops_all_at_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = [made(tmp_path / "run", ranks=ranks) for ranks in ranks_of(2)]
    stops: list[Any] = []
    monkeypatch.setattr("rate.system.signals.StopOnSignal.__enter__", lambda stop: stops.append(stop) or stop)
    together[0].on_step = lambda step, _: setattr(stops[0], "requested", step == 2)
    ends = all_fit(together)
    assert all("stopped at step 2" in str(end) for end in ends)


def test_a_batch_too_small_for_the_ranks_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"train\.batch_size = 1 leaves some of 2 processes"):
        Ranks(rank=1, world=2).rows(1)


def test_ranks_draw_different_numbers_and_the_first_goes_on() -> None:
    drawn = []
    for rank, step in [(0, 3), (1, 3), (2, 3), (1, 4), (1, 3)]:
        torch.manual_seed(5)
        Ranks(rank=rank, world=3).draw_apart(7, step)
        drawn.append(float(torch.rand(())))
    torch.manual_seed(5)
    assert drawn[0] == float(torch.rand(())) and len(set(drawn)) == 4 and drawn[4] == drawn[1]
