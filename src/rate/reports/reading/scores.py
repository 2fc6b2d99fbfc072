"""Scores of runs, and of models: runs of one configuration in one environment are seeds of one experiment.

Episodes of all seeds are pooled for the interval; the spread between the seeds is kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rate.evaluation.intervals import Interval, estimate, mean_sem
from rate.reports.reading.grouping import Label, by_configuration, unequal_settings
from rate.reports.reading.runs import CaseSummary, RunSummary
from rate.score import Score
from rate.types import EpisodeRecord


@dataclass(frozen=True, kw_only=True)
class CaseScore:
    """A model in one case, over the episodes of all its runs."""

    episodes: int
    by_run: Mapping[str, float]
    """Name of a run to its value."""
    pooled: Interval
    over_runs: Interval | None
    """Mean and standard error of the values of the single runs; None for one run."""

    @property
    def value(self) -> float:
        """The mean over runs, or over the episodes of the one run."""
        return (self.over_runs or self.pooled).value


@dataclass(frozen=True, kw_only=True)
class ModelScores:
    """One configuration of a model in one environment."""

    model: str
    """The name of the model, with what is special to this configuration if there are several."""
    family: str
    """The same without the training length."""
    train_length: float | None
    """None where no model was trained on several lengths."""
    runs: tuple[RunSummary, ...]
    scores: Mapping[str, CaseScore]

    @property
    def evaluated(self) -> int:
        return sum(bool(run.cases) for run in self.runs)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """All models of one environment."""

    env: str
    score: Score
    axis: str | None
    axis_unit: str
    cases: Mapping[str, float | None]
    """Case to value of the axis tag, in the order of that value."""
    models: tuple[ModelScores, ...]

    @property
    def trained_on(self) -> float | None:
        """The training length of all models, where it is what parts the report."""
        lengths = {model.train_length for model in self.models}
        return lengths.pop() if len(lengths) == 1 else None

    @property
    def title(self) -> str:
        length = self.trained_on
        return self.env if length is None else f"{self.env}, trained at {length:g}"

    @property
    def short_title(self) -> str:
        return self.env if self.trained_on is None else f"{self.env} @ {self.trained_on:g}"

    @property
    def parts(self) -> list[Experiment]:
        """One per training length where lengths are compared, with models named by family; else the experiment."""
        lengths = {model.train_length for model in self.models}
        if lengths == {None}:
            return [self]
        return [self._part(length) for length in sorted(lengths, key=lambda at: (at is None, at or 0.0))]

    def _part(self, length: float | None) -> Experiment:
        models = [_named(model, model.family) for model in self.models if model.train_length == length]
        cases = {case: value for case, value in self.cases.items() if any(case in model.scores for model in models)}
        return replace(self, models=tuple(models), cases=cases)

    @property
    def families(self) -> dict[str, dict[float, ModelScores]]:
        """Family to its models by training length, where lengths are compared."""
        found: dict[str, dict[float, ModelScores]] = {}
        for model in self.models:
            if model.train_length is not None:
                found.setdefault(model.family, {})[model.train_length] = model
        return found

    @property
    def runs(self) -> list[RunSummary]:
        return [run for model in self.models for run in model.runs]

    @property
    def train_lengths(self) -> list[float]:
        return sorted({run.train_length for run in self.runs if run.train_length is not None})

    @property
    def has_axis(self) -> bool:
        return any(value is not None for value in self.cases.values())


def experiments(runs: Sequence[RunSummary]) -> list[Experiment]:
    """The runs by environment and configuration, both in the order in which they come first."""
    return [_experiment(env, [run for run in runs if run.env == env]) for env in _ordered(run.env for run in runs)]


def judge(records: Iterable[EpisodeRecord], score: Score) -> Interval:
    """The mean score of episodes and its bounds."""
    return estimate(score.values(records), rate=score.is_rate)


def common_score(runs: Sequence[RunSummary]) -> Score:
    """The score of all runs; where they are judged by different ones, the return; without runs, success."""
    scores = [run.score for run in runs] or [Score(kind="success")]
    return scores[0] if all(score == scores[0] for score in scores) else Score()


def pooling_notes(experiment: Experiment) -> list[str]:
    """What makes pooled runs something other than one run per seed, and compared runs something other than equals."""
    shared = [
        f"{experiment.env}: pooled runs of {model.model} share a seed"
        for model in experiment.models
        if len({run.seed for run in model.runs}) < len(model.runs)
    ]
    unequal = unequal_settings([run for model in experiment.models for run in model.runs])
    return shared + ([f"{experiment.env}: the runs differ in {'; '.join(unequal)}"] if unequal else [])


def _experiment(env: str, runs: Sequence[RunSummary]) -> Experiment:
    evaluated = [run for run in runs if run.cases]
    score = common_score(evaluated)
    axis = next((run.axis for run in evaluated if run.axis), None)
    groups = by_configuration(runs)
    return Experiment(
        env=env,
        score=score,
        axis=axis,
        axis_unit=next((run.axis_unit for run in runs if run.axis_unit), ""),
        cases=_ordered_cases(evaluated, axis),
        models=tuple(_model_scores(label, group, score) for label, group in groups.items()),
    )


def _ordered_cases(runs: Sequence[RunSummary], axis: str | None) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for case in (case for run in runs for case in run.cases):
        known = values.get(case.case)
        values[case.case] = case.tag(axis) if axis and known is None else known
    return dict(sorted(values.items(), key=lambda item: (item[1] is None, item[1] or 0.0, item[0])))


def _named(model: ModelScores, name: str) -> ModelScores:
    return replace(model, model=name, runs=tuple(replace(run, model=name) for run in model.runs))


def _model_scores(label: Label, runs: Sequence[RunSummary], score: Score) -> ModelScores:
    by_case: dict[str, dict[str, CaseSummary]] = {}
    for run in runs:
        for case in run.cases:
            by_case.setdefault(case.case, {})[run.name] = case
    scores = {name: _case_score(results, score) for name, results in by_case.items()}
    scored = ModelScores(
        model=str(label), family=label.family, train_length=label.train_length, runs=tuple(runs), scores=scores
    )
    return _named(scored, str(label))


def _case_score(results: Mapping[str, CaseSummary], score: Score) -> CaseScore:
    records = [record for result in results.values() for record in result.records]
    by_run = {name: judge(result.records, score).value for name, result in results.items()}
    return CaseScore(
        episodes=len(records),
        by_run=by_run,
        pooled=judge(records, score),
        over_runs=mean_sem(list(by_run.values())) if len(by_run) > 1 else None,
    )


def _ordered(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
