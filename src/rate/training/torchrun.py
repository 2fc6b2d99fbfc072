"""The ranks that `torchrun` starts, as their environment tells them: gloo between CPUs, nccl between GPUs.

Which rank is lost is noted by torchrun, which ends the others, so sums wait for as long as the first rank evaluates.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from rate.errors import ConfigError, LeftError, RateError
from rate.system.device import pick_device
from rate.training.ranks import Ranks, Reduce

PATIENCE = datetime.timedelta(days=1)
NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE")


class LostRankError(RateError):
    """Another process of this training has ended."""


@contextmanager
def joined(device: torch.device, batch_size: int) -> Iterator[Ranks]:
    """This process among those that torchrun started; alone where it did not."""
    rank, _, world = _places()
    if world == 1:
        yield Ranks()
        return
    with said_once():
        Ranks(world=world).rows(batch_size)  # a batch that is too small is refused before anything waits
    store, *_ = next(iter(dist.rendezvous("env://", timeout=PATIENCE)))  # type: ignore[attr-defined]
    # After a restart the store still holds the addresses of processes that are gone.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore(f"restart-{attempt}", store)  # type: ignore[attr-defined]
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=PATIENCE)
    try:
        yield Ranks(rank=rank, world=world, reduce=_sum_on(device))
    finally:
        dist.destroy_process_group()


@contextmanager
def said_once() -> Iterator[None]:
    """What every rank finds wrong alike is said by the first."""
    try:
        yield
    except RateError:
        if _places()[0]:
            raise LeftError from None
        raise


def own_device(name: str) -> torch.device:
    """The device of this process: of several GPUs, the one with the number that it has on its machine."""
    device, (_, local, world) = pick_device(name), _places()
    if world == 1 or device.type != "cuda" or device.index is not None:
        return device
    if local >= torch.cuda.device_count():
        raise ConfigError(f"process {local} has no GPU of its own here: start at most {torch.cuda.device_count()}")
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


def _places() -> tuple[int, int, int]:
    """Rank, rank on this machine, number of ranks."""
    if "WORLD_SIZE" not in os.environ or "RANK" not in os.environ:
        return 0, 0, 1
    try:
        rank, local, world = (int(os.environ.get(name, "0")) for name in NAMES)
    except ValueError:
        raise ConfigError(f"{', '.join(NAMES)} must be whole numbers; torchrun sets them") from None
    if not 0 <= rank < world:
        raise ConfigError(f"RANK is {rank} of WORLD_SIZE {world}; torchrun sets them")
    return rank, local, world


def _sum_on(device: torch.device) -> Reduce:
    def reduce(tensor: Tensor) -> Tensor:
        total = tensor.detach().to(device, copy=True)
        try:
            dist.all_reduce(total)
        except RuntimeError as reason:
            again = "start all of them again with --resume (torchrun --max-restarts does it)"
            raise LostRankError(f"another process of this training has ended; {again}") from reason
        return total.to(tensor.device)

    return reduce
