"""Metrics to metrics.jsonl and TensorBoard, both local.

TensorBoard is written where it is installed, which a minimal install (pip install --no-deps) may leave out;
no tracking service is ever contacted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rate.system.files import check_own
from rate.training.run_dir import RunDir


class MetricLog:
    """Writes metrics of a step to every sink."""

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self._writer: Any = None
        self._opened = False

    def __enter__(self) -> MetricLog:
        return self

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        self.run.log({"step": step, **metrics})
        if not self._opened:
            self._open(step)
        if self._writer is not None:
            for name, value in metrics.items():
                self._writer.add_scalar(name, value, step)

    def _open(self, step: int) -> None:
        """At the first metric: a finished run that is resumed gets no empty file; what was logged twice is hidden."""
        self._opened = True
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        check_own(self.run.tensorboard, self.run.path)
        self._writer = SummaryWriter(str(self.run.tensorboard), purge_step=step)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._writer is not None:
            self._writer.close()
