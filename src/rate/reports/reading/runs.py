"""What a report needs to know of one run, read from its directory.

Of each case only the evaluation that was written last counts; earlier checkpoints stay in the file as history.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from rate.errors import CheckpointError, ConfigError
from rate.reports.reading.facts import began, command, number, numbers
from rate.reports.reading.json_files import read_jsonl, read_object, read_optional_object
from rate.score import Score
from rate.system.files import reading, shown
from rate.types import EpisodeRecord

EvaluationKey: TypeAlias = tuple[str, str, str, int]
"""Case, mark of the evaluation, checkpoint, step."""
How: TypeAlias = tuple[str, str, float]
"""Intervention, prompt and target return: evaluations that differ in them are never put together."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one evaluated case cost."""

    seconds: float
    env_steps: int
    ms_per_step: float
    batch: int
    threads: int | None


@dataclass(frozen=True, kw_only=True)
class CaseSummary:
    """The last evaluation of one case."""

    case: str
    checkpoint: str
    step: int
    records: tuple[EpisodeRecord, ...]
    cost: Cost | None
    intervention: str = ""
    prompt: str = "countdown"
    target_return: float = math.nan

    def tag(self, name: str) -> float | None:
        """The numeric value of a tag, where all episodes agree on one."""
        values = {number(record.tags.get(name)) for record in self.records}
        return values.pop() if len(values) == 1 else None


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One run: its configuration, its curves and the last evaluation of every case."""

    path: Path
    name: str
    model: str
    env: str
    seed: int
    config: Mapping[str, Any]
    metrics: tuple[Mapping[str, Any], ...]
    cases: tuple[CaseSummary, ...]
    """As the run was meant to act."""
    altered: tuple[CaseSummary, ...] = ()
    """Under interventions, shown another return-to-go than its configuration says, or asked for another target."""
    score: Score
    """By what its episodes are judged."""
    tags: tuple[str, ...] = ()
    """Tags of episodes by which they are also judged apart."""
    axis: str | None
    """The tag that orders the cases."""
    axis_unit: str
    train_length: float | None
    data_return: float | None
    """Mean return of the training data; None where it was not written down."""
    steps: int
    """Optimiser steps that were made."""
    train_seconds: float | None
    """Wall-clock time of these steps; None where it was not written down."""
    command: str
    """What started it, as a shell takes it; empty where that was not written down."""
    data_returns: tuple[float, ...] | None = None
    """Least, mean and highest return of the training data; None where they were not written down."""
    distinct: tuple[float, ...] | None = None
    """Episodes that were trained on, those that differ, and first observations that do; None: not written down."""
    notes: tuple[str, ...]
    """What a reader of the numbers should know about the files."""


def read_run(path: Path, *, need_evaluation: bool = False) -> RunSummary:
    """Read a run directory; with `need_evaluation` a run without evaluated episodes is an error."""
    with reading(path):
        return _summary(path, need_evaluation)


def _summary(path: Path, need_evaluation: bool) -> RunSummary:
    config = _read_config(path)
    metrics, metrics_cut = read_jsonl(path / "metrics.jsonl")
    lines, eval_cut = read_jsonl(path / "eval.jsonl")
    costs, _ = read_jsonl(path / "evaluations.jsonl")
    records = [_record(line, path / "eval.jsonl") for line in lines]
    if not records and (need_evaluation or not metrics):
        raise CheckpointError(f"{path} has no evaluated episodes{'' if need_evaluation else ' and no metrics'}")
    evaluated, notes = _last_evaluations(records, costs)
    meant = ("", _prompt(config))
    # Of several targets, too, the one that was asked for last.
    plain = {one.case: one for one in evaluated if (one.intervention, one.prompt) == meant}
    cases = tuple(plain[case] for case in dict.fromkeys(record.case for record in records) if case in plain)
    cut = [name for name, is_cut in (("metrics.jsonl", metrics_cut), ("eval.jsonl", eval_cut)) if is_cut]
    notes += [f"the last line of {name} is cut off and was left out" for name in cut]
    meta = read_optional_object(path / "meta.json")
    return RunSummary(
        path=path,
        name=path.resolve().name,
        model=shown(_lookup(config, path, "model", "name")),
        env=shown(_lookup(config, path, "env", "name")),
        seed=_seed(config, path),
        config=config,
        metrics=tuple(metrics),
        cases=cases,
        altered=tuple(one for one in evaluated if plain.get(one.case) is not one),
        score=_score(meta, records),
        tags=tuple(map(shown, meta.get("tags") or ())),
        axis=shown(meta.get("axis") or "") or _infer_axis(cases),
        axis_unit=shown(meta.get("axis_unit") or ""),
        train_length=number(meta.get("train_length")),
        data_return=number(meta.get("data_return")),
        steps=int(max([0, *_logged(metrics, "step"), *(case.step for case in cases)])),
        train_seconds=next(reversed(_logged(metrics, "time/training_seconds")), None),
        command=command(read_optional_object(path / "environment.json").get("command")),
        data_returns=numbers(meta.get("data_returns"), ("min", "mean", "max")),
        distinct=numbers(meta.get("distinct"), ("of", "episodes", "first_observations")),
        notes=(*notes, *began(meta.get("start_from"))),
    )


def read_runs(paths: Sequence[Path]) -> list[RunSummary]:
    """Read several runs, a directory given twice only once, and give them names that tell them apart."""
    unique = list(dict.fromkeys(Path(path).resolve() for path in paths))
    if not unique:
        raise CheckpointError("no run directory was given")
    given = {Path(path).resolve(): Path(path) for path in reversed(paths)}
    names = _distinct_names(unique)
    return [replace(read_run(given[path]), name=name) for path, name in zip(unique, names, strict=True)]


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise CheckpointError(f"{path} does not exist or is not a directory")
    if not (path / "config.json").is_file():
        raise CheckpointError(f"{path} is not a run directory: it has no config.json")
    return read_object(path / "config.json")


def _lookup(config: Mapping[str, Any], path: Path, *keys: str) -> Any:
    value: Any = config
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            raise CheckpointError(f"{path / 'config.json'} has no {'.'.join(keys)}")
        value = value[key]
    return value


def _seed(config: Mapping[str, Any], path: Path) -> int:
    seed = _lookup(config, path, "seed")
    if not isinstance(seed, int):
        raise CheckpointError(f"{path / 'config.json'}: the seed must be a whole number, got {seed!r}")
    return seed


def _prompt(config: Mapping[str, Any]) -> str:
    """The one that the run is judged with; runs from before there were several have the first."""
    judge = config.get("eval")
    return str(judge.get("prompt") or "countdown") if isinstance(judge, Mapping) else "countdown"


def _record(line: Mapping[str, Any], path: Path) -> EpisodeRecord:
    try:
        record = EpisodeRecord(
            case=shown(line["case"]),
            evaluation=str(line.get("evaluation") or ""),
            seed=int(line["seed"]),
            episode_return=float(line["episode_return"]),
            length=int(line["length"]),
            success=None if line["success"] is None else bool(line["success"]),
            target_return=float(line["target_return"]),
            checkpoint=str(line["checkpoint"]),
            step=int(line["step"]),
            tags={shown(key): shown(value) for key, value in (line.get("tags") or {}).items()},
            intervention=str(line.get("intervention") or ""),
            prompt=str(line.get("prompt") or "countdown"),
            familiar=None if line.get("familiar") is None else bool(line["familiar"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(f"{path} holds a line that is not an episode record ({error!r})") from error
    if not math.isfinite(record.episode_return):
        raise CheckpointError(f"{path}: an episode of case {record.case!r} has the return {record.episode_return}")
    return record


def _last_evaluations(
    records: Sequence[EpisodeRecord], costs: Sequence[Mapping[str, Any]]
) -> tuple[tuple[CaseSummary, ...], list[str]]:
    groups: dict[tuple[EvaluationKey, How], list[EpisodeRecord]] = {}
    newest: dict[tuple[str, How], EvaluationKey] = {}
    for record in records:
        # Older files have no mark; there, evaluations of one checkpoint cannot be told apart.
        key = (record.case, record.evaluation, record.checkpoint, record.step)
        how = (record.intervention, record.prompt, record.target_return)
        groups.setdefault((key, how), []).append(record)
        newest.pop((record.case, how), None)  # so that what was written last stands last
        newest[record.case, how] = key
    results, repeated = [], 0
    for (case, how), key in newest.items():
        kept = _newest_of_each_seed(groups[key, how])
        repeated += len(groups[key, how]) - len(kept)
        found = CaseSummary(case=case, checkpoint=key[2], step=key[3], records=kept, cost=_cost(key, costs))
        results.append(replace(found, intervention=how[0], prompt=how[1], target_return=how[2]))
    note = f"{repeated} episodes that a later evaluation repeated with the same seed were left out"
    return tuple(results), [note] if repeated else []


def _newest_of_each_seed(records: Sequence[EpisodeRecord]) -> tuple[EpisodeRecord, ...]:
    # Evaluating one checkpoint twice repeats its episodes; counting both would narrow the interval for nothing.
    kept = {record.seed if record.seed >= 0 else ("unknown", at): record for at, record in enumerate(records)}
    return tuple(kept.values())


def _cost(key: EvaluationKey, lines: Sequence[Mapping[str, Any]]) -> Cost | None:
    for line in reversed(lines):
        if (line.get("case"), line.get("evaluation") or "", line.get("checkpoint"), line.get("step")) == key:
            threads = number(line.get("threads"))
            known = numbers(line, ("seconds", "env_steps", "ms_per_step", "batch"))
            if known is None:
                return None
            seconds, env_steps, ms_per_step, batch = known
            return Cost(
                seconds=seconds,
                env_steps=int(env_steps),
                ms_per_step=ms_per_step,
                batch=int(batch),
                threads=None if threads is None else int(threads),
            )
    return None


def _logged(metrics: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    return [found for line in metrics if (found := number(line.get(key))) is not None]


def _score(meta: Mapping[str, Any], records: Sequence[EpisodeRecord]) -> Score:
    """As the run says; older ones name a metric, and success counts where every episode has it."""
    try:
        found = Score.read(meta["score"])
    except (KeyError, TypeError, ValueError, ConfigError):
        found = Score(kind="return" if str(meta.get("metric", "")).startswith("return") else "success")
    return Score() if found.is_rate and any(record.success is None for record in records) else found


def _infer_axis(cases: Sequence[CaseSummary]) -> str | None:
    """The tag that is a number in every case and differs between cases, if there is just one such tag."""
    tags = {tag for case in cases for tag in case.records[0].tags}
    values = {tag: {case.tag(tag) for case in cases} for tag in tags}
    candidates = [tag for tag, seen in values.items() if None not in seen and len(seen) > 1]
    return candidates[0] if len(candidates) == 1 else None


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """As few trailing parts of the paths as tell them apart."""
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            break
    return names
