"""Which runs are seeds of one configuration, and a label that tells the configurations of one model apart.

Where the configurations of a model are the same, its name is the label.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rate.reports.runs import RunSummary

Flat: TypeAlias = dict[str, str]

ANYWHERE = frozenset({"type", "seed"})
"""Fields that are left out wherever they stand."""
NOT_THE_EXPERIMENT = frozenset(
    {
        "recipe",
        "out",
        "run_dir",
        "eval.cases",
        "eval.episodes",
        "eval.batch",
        "train.device",
        "train.recompute",
        "train.log_every",
        "train.checkpoint_every",
        "train.evaluate_every",
        "train.evaluate_episodes",
    }
)
"""Fields that change neither what is learnt nor what is asked of it."""
FIELDS, WIDTH = 3, 20


def by_configuration(runs: Sequence[RunSummary]) -> dict[str, list[RunSummary]]:
    """Label to runs of one model and configuration, in the order in which they come first."""
    labelled: dict[str, list[RunSummary]] = {}
    labels = {name: _labels([run for run in runs if run.model == name]) for name in {run.model for run in runs}}
    for run in runs:
        labelled.setdefault(labels[run.model][_key(run)], []).append(run)
    return labelled


def unequal_settings(runs: Sequence[RunSummary]) -> list[str]:
    """Fields of training and data in which runs that stand side by side differ, with their values."""
    flat = [_experiment_fields(run.config) for run in runs]
    names = sorted({name for config in flat for name in config if name.startswith(("train.", "data."))})
    values = {name: list(dict.fromkeys(config.get(name, "-") for config in flat)) for name in names}
    return [f"{name} ({', '.join(found)})" for name, found in values.items() if len(found) > 1]


def _labels(runs: Sequence[RunSummary]) -> dict[str, str]:
    """Key of a configuration to its label; short labels, unless they would be the same for two configurations."""
    name = runs[0].model
    flat = {_key(run): _experiment_fields(run.config) for run in runs}
    names = sorted({field for config in flat.values() for field in config}, key=_model_first)
    differing = [field for field in names if len({config.get(field) for config in flat.values()}) > 1]
    if not differing:
        return dict.fromkeys(flat, name)
    labels = {key: f"{name} ({_describe(config, differing, FIELDS, WIDTH)})" for key, config in flat.items()}
    if len(set(labels.values())) == len(labels):
        return labels
    return {key: f"{name} ({_describe(config, differing)})" for key, config in flat.items()}


def _describe(config: Flat, names: Sequence[str], limit: int | None = None, width: int | None = None) -> str:
    """`memory_tokens=5, train.window=90`."""
    shown = [f"{field.removeprefix('model.')}={_shorten(config.get(field, 'None'), width)}" for field in names[:limit]]
    return ", ".join([*shown, "…"] if len(shown) < len(names) else shown)


def _shorten(text: str, width: int | None) -> str:
    if width is None or len(text) <= width:
        return text
    half = (width - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def _key(run: RunSummary) -> str:
    return json.dumps(_experiment_fields(run.config), sort_keys=True)


def _experiment_fields(config: Mapping[str, Any]) -> Flat:
    return {
        name: _text(value)
        for name, value in _flatten(config)
        if name.rsplit(".", 1)[-1] not in ANYWHERE and name not in NOT_THE_EXPERIMENT and value is not None
    }


def _flatten(config: Any, prefix: str = "") -> list[tuple[str, Any]]:
    if not isinstance(config, Mapping):
        return [(prefix, config)]
    dot = f"{prefix}." if prefix else ""
    return [pair for key, value in config.items() for pair in _flatten(value, f"{dot}{key}")]


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(_text, value)) or "()"
    return value if isinstance(value, str) else json.dumps(value)


def _model_first(name: str) -> tuple[bool, str]:
    return not name.startswith("model."), name
