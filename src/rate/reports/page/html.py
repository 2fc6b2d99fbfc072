"""The report as one HTML page that needs no other file, no script and no network.

Everything that comes from a run directory is escaped; figures are embedded as data URIs.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from html import escape

from rate.reports.figures.heatmap import has_heatmap, heatmap, heatmap_words
from rate.reports.figures.horizon import CROWD, axis_title, horizon
from rate.reports.figures.plots import Styles, learning_panel, model_styles, render
from rate.reports.figures.recall import cross_plot, crosses, recall_words
from rate.reports.figures.sweeps import sweep_figure, sweep_words, sweeps
from rate.reports.figures.tasks import tasks_figure
from rate.reports.page.methods import HEATMAP, HORIZON_BAND, METHODS, RECALL, SWEEP
from rate.reports.page.style import CSS
from rate.reports.reading.curves import MAX_ENVS, Panel, learning_panels
from rate.reports.reading.runs import RunSummary
from rate.reports.reading.scores import Experiment
from rate.reports.tables.table import NOT_EVALUATED, Table, format_score
from rate.reports.tables.tasks import Tasks

MANY = 12
"""More columns are set in smaller print."""
NUMBER = r"-?[\d.]+"
CELL = re.compile(
    rf"(?P<value>{NUMBER}) (?P<bounds>\[{NUMBER}, {NUMBER}\]|± {NUMBER})"
    rf"(?: \((?P<runs>\d+ runs:) (?P<spread>{NUMBER} ± {NUMBER}), (?P<least>min {NUMBER})\))?"
)


def render_page(
    experiments: Sequence[Experiment],
    tables: Sequence[Table],
    notes: Sequence[str],
    title: str = "Report",
    tasks: Tasks | None = None,
) -> str:
    """The whole page."""
    runs = [run for experiment in experiments for run in experiment.runs]
    with_axis = [experiment for experiment in experiments if experiment.has_axis]
    body = [
        f"<header><h1>{escape(title)}</h1><p class='lead'>{escape(_lead(experiments))}</p></header><main>",
        _notes(notes),
        _section("heatmap", "Score by training length", map(_heatmap_figure, filter(has_heatmap, experiments))),
        _section("tasks", "Return by task", _tasks_figure(tasks)),
        _section("results", "Results", (_table(table) for table in tables)),
        _section("horizon", "Score by case", (_horizon_figure(item, experiments) for item in with_axis)),
        _section("sweeps", "Score by setting", _sweep_figure(experiments)),
        _section("recall", "Memory condition", _recall_figure(experiments)),
        _section("curves", "Learning curves", _curve_figures(experiments)),
        _section("runs", "Runs", map(_run_details, runs)),
        _section("methods", "How each number was computed", [_methods()]),
        "</main><footer><p>Exact values: summary.json, beside this page.</p></footer>",
    ]
    head = (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{CSS}</style></head><body>"
    )
    return head + "\n".join(filter(None, body)) + "</body></html>\n"


def _section(name: str, title: str, parts: Iterable[str]) -> str:
    content = "\n".join(parts)
    return f"<section aria-labelledby='{name}'><h2 id='{name}'>{title}</h2>{content}</section>" if content else ""


def _lead(experiments: Sequence[Experiment]) -> str:
    models = {model.family for experiment in experiments for model in experiment.models}
    runs = [run for experiment in experiments for run in experiment.runs]
    episodes = sum(len(case.records) for run in runs for case in run.cases)
    counts = f"{_count(len(runs), 'run')} of {_count(len(models), 'model')}"
    return f"{counts}, {_count(episodes, 'evaluated episode')}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<div class='notes' role='note'><strong>To know before reading</strong><ul>{items}</ul></div>"


def _table(table: Table) -> str:
    # Many cases fit side by side if `length=9600` may break.
    header = "".join(f"<th scope='col'>{escape(cell).replace('=', '=<wbr>')}</th>" for cell in table.header)
    rows = "".join(_table_row(row) for row in table.rows)
    label = escape(table.caption)
    return (
        f"<div class='card scroll' tabindex='0' role='region' aria-label='{label}'>"
        f"<table{' class=many' if len(table.header) > MANY else ''}><caption><span>{label}</span></caption>"
        f"<thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _table_row(row: Sequence[str]) -> str:
    cells = "".join(f"<td>{_table_cell(cell)}</td>" for cell in row[1:])
    return f"<tr><th scope='row'>{escape(row[0])}</th>{cells}</tr>"


def _table_cell(cell: str) -> str:
    """The value, and under it in small print its interval and its spread over runs."""
    if cell == NOT_EVALUATED:
        return f"<span class='none'>{cell}</span>"
    found = CELL.fullmatch(cell)
    if found is None:
        return escape(cell)
    return found["value"] + "".join(
        f"<small>{found[name]}</small>" for name in ("bounds", "runs", "spread", "least") if found[name]
    )


def _heatmap_figure(experiment: Experiment) -> str:
    figure = heatmap([experiment])
    assert figure is not None
    image = _data_uri(render(figure, "svg"))
    alt = f"{experiment.score.title} by training length in {experiment.env}, a panel per model."
    alt = escape(f"{alt} {heatmap_words(experiment)}")
    return (
        f"<figure><div class='pan' tabindex='0' role='region' aria-label='Heat map'><img src='{image}' alt='{alt}'>"
        f"</div><figcaption>{escape(HEATMAP)}</figcaption></figure>"
    )


def _horizon_figure(experiment: Experiment, experiments: Sequence[Experiment]) -> str:
    alt = f"{experiment.score.title} against {axis_title(experiment)} in {experiment.env}."
    caption = f"{HORIZON_BAND} Models stand slightly beside each other so that equal scores stay visible."
    if len(experiment.models) > CROWD:  # a second drawing for phones would be as large, and no help
        words, phone = "The tables above hold the values.", ""
    else:
        narrow = _drawn_horizon(experiment, experiments, 4.4)
        words, phone = _score_words(experiment), f"<source media='(max-width: 40rem)' srcset='{narrow}'>"
    image = f"<img src='{_drawn_horizon(experiment, experiments, 7.2)}' alt='{escape(f'{alt} {words}')}'>"
    return f"<figure class='wide'><picture>{phone}{image}</picture><figcaption>{caption}</figcaption></figure>"


def _tasks_figure(tasks: Tasks | None) -> list[str]:
    figure = tasks_figure(tasks)
    if figure is None:
        return []
    image = _data_uri(render(figure, "svg"))
    alt = "Mean return of each model in each task. The table task by task holds the values."
    caption = "A dot is the mean over runs, its bar one standard error over runs, where there are several."
    return [f"<figure class='wide'><img src='{image}' alt='{alt}'><figcaption>{caption}</figcaption></figure>"]


def _sweep_figure(experiments: Sequence[Experiment]) -> list[str]:
    panels = sweeps(experiments)
    figure = sweep_figure(panels)
    if figure is None:
        return []
    image, alt = _data_uri(render(figure, "svg")), escape(sweep_words(panels))
    return [f"<figure class='wide'><img src='{image}' alt='{alt}'><figcaption>{escape(SWEEP)}</figcaption></figure>"]


def _recall_figure(experiments: Sequence[Experiment]) -> list[str]:
    panels = crosses(experiments)
    figure = cross_plot(panels)
    if figure is None:
        return []
    image, alt = _data_uri(render(figure, "svg")), escape(recall_words(panels))
    return [f"<figure class='wide'><img src='{image}' alt='{alt}'><figcaption>{escape(RECALL)}</figcaption></figure>"]


def _drawn_horizon(experiment: Experiment, experiments: Sequence[Experiment], width: float) -> str:
    figure = horizon([experiment], width=width, styles=model_styles(experiments))
    assert figure is not None
    return _data_uri(render(figure, "svg"))


def _score_words(experiment: Experiment) -> str:
    """The scores in words, for readers who do not see the figure."""
    return " ".join(
        f"{model.model}: "
        + ", ".join(
            f"{case} {format_score(model.scores[case], experiment.score)}"
            for case in experiment.cases
            if case in model.scores
        )
        + "."
        for model in experiment.models
        if model.scores
    )


def _curve_figures(experiments: Sequence[Experiment]) -> list[str]:
    if len(experiments) > MAX_ENVS:
        return []
    styles = model_styles(experiments)
    trained = [part for experiment in experiments for part in experiment.parts]
    parts = []
    for part in trained:
        figures = [_curve_figure(panel, styles, part.title) for panel in learning_panels(part.runs)]
        heading = f"<h3>{escape(part.title)}</h3>" if len(trained) > 1 and figures else ""
        parts.append(f"{heading}<div class='figures'>{''.join(figures)}</div>" if figures else "")
    return list(filter(None, parts))


def _curve_figure(panel: Panel, styles: Styles, env: str) -> str:
    image = _data_uri(render(learning_panel(panel, styles), "svg"))
    last = ", ".join(f"{curve.run} {curve.values[-1]:.3g}" for curve in panel.curves)
    alt = f"{panel.title} in {env} against the optimiser step. Last values: {last}."
    return f"<figure><img src='{image}' alt='{escape(alt)}'></figure>"


def _run_details(run: RunSummary) -> str:
    config = escape(json.dumps(run.config, indent=2, ensure_ascii=False, default=str))
    shown = f"<p>Command</p><pre><code>{escape(run.command)}</code></pre>" if run.command else ""
    steps = sorted({case.step for case in run.cases})
    evaluated = f"evaluated at step {', '.join(map(str, steps))}" if steps else "not evaluated"
    about = f"{run.model}, {run.env}, seed {run.seed}, recipe {run.config.get('recipe', 'not named')}, {evaluated}"
    return (
        f"<details class='card'><summary>{escape(run.name)} <span>{escape(about)}</span></summary>"
        f"{shown}<p>Configuration</p><pre><code>{config}</code></pre></details>"
    )


def _methods() -> str:
    items = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in METHODS)
    return f"<dl class='card'>{items}</dl>"


def _data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"
