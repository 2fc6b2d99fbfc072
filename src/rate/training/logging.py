"""Metrics to metrics.jsonl and TensorBoard, both local, and to the loggers that the user named.

TensorBoard is written where it is installed, which a minimal install (pip install --no-deps) may leave out;
no tracking service is contacted unless a logger that was named does so.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType

from rate.training.loggers import LOGGERS, Logged, Logger
from rate.training.run_dir import RunDir


class TensorBoard:
    """Events in the run directory; what was logged twice is hidden."""

    def __init__(self, run: Logged, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(run.own("tensorboard")), purge_step=step)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class MetricLog:
    """Writes metrics of a step to every sink."""

    def __init__(self, run: RunDir, loggers: Sequence[str] = ()) -> None:
        self.run, self._names = run, loggers
        self._sinks: dict[str, Logger] | None = None

    def __enter__(self) -> MetricLog:
        return self

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        self.run.log({"step": step, **metrics})
        if self._sinks is None:
            self._sinks = self._opened(step)
        for name, sink in list(self._sinks.items()):
            self._guarded(name, partial(sink.log, step, metrics))

    def _opened(self, step: int) -> dict[str, Logger]:
        """At the first metric: a finished run that is resumed gets no empty file."""
        about = Logged(path=self.run.path, config=self.run.read_config() if self._names else {})
        sinks: dict[str, Logger] = {}
        with contextlib.suppress(ImportError):
            sinks["tensorboard"] = TensorBoard(about, step)
        for name in self._names:
            sinks[name] = LOGGERS.get(name)(about)
        return sinks

    def _guarded(self, name: str, call: Callable[[], None]) -> None:
        """A logger that fails on the way is left out from then on: training is worth more than its second log."""
        try:
            call()
        except Exception as reason:
            if self._sinks is None or name not in LOGGERS:
                raise
            self._sinks.pop(name, None)
            warnings.warn(f"the logger {name} failed and is left out: {reason}", RuntimeWarning, stacklevel=3)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        for name, sink in list((self._sinks or {}).items()):
            self._guarded(name, sink.close)
