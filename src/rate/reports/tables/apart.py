"""Episodes judged apart: by the tags that an environment names, and evaluations that are not the plain one.

Neither is ever pooled with the scores of a model: a noisy evaluation cannot pass for a clean one.
"""

from __future__ import annotations

from collections.abc import Sequence

from rate.evaluation.intervals import Interval
from rate.reports.reading.runs import CaseSummary
from rate.reports.reading.scores import Experiment, ModelScores, judge
from rate.reports.tables.table import NOT_EVALUATED, Table, format_interval, format_number


def tag_tables(experiment: Experiment) -> list[Table]:
    """A table for each tag by which the runs of an environment are judged apart."""
    tags = dict.fromkeys(tag for run in experiment.runs for tag in run.tags)
    return [table for tag in tags if (table := _tag_table(experiment, tag))]


def _tag_table(experiment: Experiment, tag: str) -> Table | None:
    """One row per model, one column per value of the tag, over all cases; and how far the values lie apart."""
    found = {model.model: by_tag(model, experiment, tag) for model in experiment.models}
    values = sorted({value for by_value in found.values() for value in by_value}, key=_in_order)
    if len(values) < 2:
        return None
    rows = []
    for name, by_value in found.items():
        if by_value:
            cells = _cells([by_value.get(value) for value in values], experiment)
            rows.append((name, *cells, format_number(imbalance(list(by_value.values())))))
    return Table(
        caption=f"{experiment.env}, by {tag}, over all cases: {experiment.score.caption}",
        header=("Model", *(f"{tag} {value}" for value in values), "Imbalance"),
        rows=tuple(rows),
    )


def by_tag(model: ModelScores, experiment: Experiment, tag: str) -> dict[str, Interval]:
    """Value of a tag to the score of all episodes that have it."""
    records = [record for run in model.runs for case in run.cases for record in case.records]
    values = dict.fromkeys(record.tags[tag] for record in records if tag in record.tags)
    return {
        value: judge([record for record in records if record.tags.get(tag) == value], experiment.score)
        for value in values
    }


def imbalance(intervals: Sequence[Interval]) -> float:
    """The best value less the worst."""
    found = [interval.value for interval in intervals]
    return max(found) - min(found)


def altered_table(experiment: Experiment) -> Table | None:
    """One row per model and way of acting, one column per case; None where every evaluation is plain."""
    rows: list[tuple[str, ...]] = []
    cases = list(dict.fromkeys(one.case for run in experiment.runs for one in run.altered))
    for model in experiment.models:
        ways = dict.fromkeys(way for run in model.runs for way in map(way_of, run.altered))
        for way in ways:
            found = [_altered_score(model, experiment, case, way) for case in cases]
            rows.append((model.model, way, *_cells(found, experiment)))
    if not rows:
        return None
    caption = f"{experiment.env}, acting otherwise: {experiment.score.caption}"
    return Table(caption=caption, header=("Model", "Changed", *cases), rows=tuple(rows))


def way_of(case: CaseSummary) -> str:
    """What was changed while acting, in words."""
    prompt = f"prompt {case.prompt}" if case.prompt != "countdown" else ""
    return ", ".join(part for part in (case.intervention, prompt) if part) or f"target {case.target_return:g}"


def _altered_score(model: ModelScores, experiment: Experiment, case: str, way: str) -> Interval | None:
    found = [one for run in model.runs for one in run.altered if one.case == case and way_of(one) == way]
    records = [record for one in found for record in one.records]
    return judge(records, experiment.score) if records else None


def _cells(found: Sequence[Interval | None], experiment: Experiment) -> list[str]:
    bounds = experiment.score.is_rate
    return [NOT_EVALUATED if one is None else format_interval(one, bounds=bounds) for one in found]


def _in_order(value: str) -> tuple[bool, float, str]:
    """Numbers by size, then words."""
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value
