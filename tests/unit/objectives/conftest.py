"""One thread, and data that is collected once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATE_DATA", str(tmp_path_factory.mktemp("data")))
        yield Path()
