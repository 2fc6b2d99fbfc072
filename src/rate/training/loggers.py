"""Loggers: where metrics also go, besides metrics.jsonl and TensorBoard; none by default.

A logger is a class called with a run's name, directory and configuration. Its package is imported when it is made.
Those of this file keep everything on this disk, unless the variables of their packages say otherwise.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rate.errors import MissingExtraError
from rate.registry import Registry
from rate.serial import Stored, flat
from rate.system.files import check_own

PROJECT = "rate"
LONGEST = 250
"""Characters of a parameter that mlflow keeps."""


@dataclass(frozen=True, kw_only=True)
class Logged:
    """What a logger is told of the run."""

    path: Path
    config: Mapping[str, Any]
    """The configuration, as config.json has it."""

    @property
    def name(self) -> str:
        return self.path.resolve().name

    def own(self, name: str) -> Path:
        """A place of the run for what a logger writes; a link there is refused."""
        check_own(self.path / name, self.path)
        return self.path / name


class Logger(Protocol):
    """Gets the metrics of logged steps; after a resume, steps may come twice."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


LOGGERS: Registry[Callable[[Logged], Logger]] = Registry("logger", "rate list loggers")
"""Name to class. A class may name, as `package`, what must be installed for it."""


@LOGGERS.register("wandb")
class Wandb:
    """Weights & Biases, offline in the run directory unless $WANDB_MODE says otherwise."""

    package = "wandb"

    def __init__(self, run: Logged) -> None:
        import wandb

        folder = run.own("wandb")
        folder.mkdir(exist_ok=True)
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        project = os.environ.get("WANDB_PROJECT", PROJECT)
        self._run = wandb.init(project=project, name=run.name, config=dict(run.config), dir=str(run.path), mode=mode)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._run.log(dict(metrics), step=step)

    def close(self) -> None:
        self._run.finish()


@LOGGERS.register("mlflow")
class Mlflow:
    """MLflow, in a file of the run directory unless $MLFLOW_TRACKING_URI says otherwise."""

    package = "mlflow"

    def __init__(self, run: Logged) -> None:
        from mlflow.tracking import MlflowClient

        local = f"sqlite:///{run.own('mlflow.db').resolve()}"
        self._client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI", local))
        found = self._client.get_experiment_by_name(PROJECT)
        experiment = found.experiment_id if found else self._client.create_experiment(PROJECT)
        self._run = self._client.create_run(experiment, run_name=run.name).info.run_id
        for name, value in flat(run.config).items():
            self._client.log_param(self._run, name, str(value)[:LONGEST])

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._client.log_metric(self._run, name, value, step=step)

    def close(self) -> None:
        self._client.set_terminated(self._run)


@LOGGERS.register("trackio")
class Trackio:
    """Trackio, whose files are in its own cache directory."""

    package = "trackio"

    def __init__(self, run: Logged) -> None:
        import trackio

        self._run = trackio.init(project=PROJECT, name=run.name, config=dict(run.config))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._run.log(dict(metrics), step=step)

    def close(self) -> None:
        self._run.finish()


def usable(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The loggers that the user named, each installed; and those that only a file names, which are not used."""
    own = [name for name in names if not isinstance(name, Stored)]
    for name in own:
        package = getattr(LOGGERS.get(name), "package", None)
        if package and importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, package)
    return own, [name for name in names if isinstance(name, Stored)]
