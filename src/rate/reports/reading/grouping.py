"""Which runs are seeds of one configuration, and a label that tells the configurations of one model apart.

Where the configurations of a model are the same, its name is the label; training lengths are told apart as `dt @ 30`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rate.reports.reading.runs import RunSummary

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
        "eval.prompt",
        "train.device",
        "train.recompute",
        "train.log_every",
        "train.checkpoint_every",
        "train.evaluate_every",
        "train.evaluate_cases",
        "train.evaluate_episodes",
    }
)
"""Fields that change neither what is learnt nor what is asked of it."""
THE_LENGTH = frozenset({"train.window", "data.options"})
"""Fields that say the training length; others that change with it are worth a note."""
THE_MODEL = frozenset({"data.oracle", "objective.name"})
"""Fields that say what a model is given."""
FIELDS, WIDTH = 3, 20


@dataclass(frozen=True, kw_only=True)
class Label:
    """The name of a configuration in a report."""

    family: str
    """The model, with what is special to the configuration besides the training length."""
    train_length: float | None = None
    """None where no model was trained on several lengths."""

    def __str__(self) -> str:
        return self.family if self.train_length is None else f"{self.family} @ {self.train_length:g}"


def by_configuration(runs: Sequence[RunSummary]) -> dict[Label, list[RunSummary]]:
    """Label to runs of one model and configuration, in the order in which they come first."""
    labelled: dict[Label, list[RunSummary]] = {}
    models = {name: [run for run in runs if run.model == name] for name in {run.model for run in runs}}
    lengths = any(len({run.train_length for run in group} - {None}) > 1 for group in models.values())
    labels = {name: _labels(group, lengths=lengths) for name, group in models.items()}
    for run in runs:
        labelled.setdefault(labels[run.model][_key(run)], []).append(run)
    return labelled


def unequal_settings(runs: Sequence[RunSummary]) -> list[str]:
    """Fields of training and data in which runs that stand side by side differ, with their values."""
    flat = [settings(run.config) for run in runs]
    lengths, models = [run.train_length for run in runs], [run.model for run in runs]
    names = sorted(
        {name for config in flat for name in config if name.startswith(("train.", "data.", "objective.name"))}
    )
    columns = {name: [config.get(name, "-") for config in flat] for name in names}
    inherent = {name for name in THE_LENGTH & columns.keys() if follows(columns[name], lengths)}
    inherent |= {name for name in THE_MODEL & columns.keys() if follows(columns[name], models)}
    values = {name: list(dict.fromkeys(column)) for name, column in columns.items() if name not in inherent}
    return [f"{name} ({', '.join(at or 'none' for at in found)})" for name, found in values.items() if len(found) > 1]


def _labels(runs: Sequence[RunSummary], *, lengths: bool) -> dict[str, Label]:
    """Key of a configuration to its label; short labels, unless they would be the same for two configurations."""
    flat = {_key(run): settings(run.config) for run in runs}
    length = {_key(run): run.train_length if lengths else None for run in runs}
    names = sorted({field for config in flat.values() for field in config}, key=_model_first)
    # What follows from the training length is said by the length.
    telling = [name for name in names if not follows([c.get(name) for c in flat.values()], list(length.values()))]
    for limit, width in ((FIELDS, WIDTH), (None, None)):
        labels = {
            key: Label(family=_family(runs[0].model, config, telling, limit, width), train_length=length[key])
            for key, config in flat.items()
        }
        if len(set(labels.values())) == len(labels):
            break
    return labels


def follows(values: Sequence[Any], causes: Sequence[Any]) -> bool:
    """Whether equal causes always have equal values; where there is one cause: whether all values are equal."""
    return len(set(zip(causes, values, strict=True))) == len(set(causes))


def _family(model: str, config: Flat, names: Sequence[str], limit: int | None, width: int | None) -> str:
    return f"{model} ({_describe(config, names, limit, width)})" if names else model


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
    return json.dumps(settings(run.config), sort_keys=True)


def settings(config: Mapping[str, Any]) -> Flat:
    """The fields that make the experiment, by name and as text."""
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


def _model_first(name: str) -> tuple[bool, bool, str]:
    return not name.endswith(".name"), not name.startswith("model."), name
