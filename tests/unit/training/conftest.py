"""One thread, data that is collected once, and tiny trainers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from integration.tiny import config
from rate.config import RunConfig
from rate.envs import ENVS
from rate.envs.spec import spaces_of
from rate.experiment import train_run
from rate.types import Spaces

torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATE_DATA", str(tmp_path_factory.mktemp("data")))
        yield Path()


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Path]:
    """train(name, **fields of TrainConfig): the directory of a tiny run."""

    def make(name: str = "run", *, run: RunConfig | None = None, **fields: object) -> Path:
        train_run(run or config(**fields), tmp_path / name)
        return tmp_path / name

    return make


@pytest.fixture(scope="session")
def tmaze_spaces() -> Spaces:
    return spaces_of(ENVS.get("tmaze"))
