"""The files of a run: configuration, marks, cards, weights, lines."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from fuzz.artefacts import ARTEFACTS, Artefact
from integration.tiny import config
from rate.cli.train import read_arguments
from rate.config import config_to_json
from rate.experiment import Run, run_state, train_run
from rate.experiment.train import check_same_config
from rate.reports.reading.runs import read_run
from rate.reports.reading.scores import experiments
from rate.reports.tables.table import score_tables, summary_rows
from rate.training.checkpoint import CARD, TRAINING, WEIGHTS, load_checkpoint, resolve_checkpoint
from rate.training.progress import Progress
from rate.training.run_dir import RunDir

TINY = config(steps=4, validate_every=2, checkpoint_every=4)


def make(directory: Path) -> None:
    train_run(TINY, directory).evaluate()


def checkpoint(run: Path) -> Path:
    return next((run / "checkpoints").glob("step_4"))


def reseal(run: Path) -> None:
    """Checksums that agree with what is there, as far as the card can still hold them."""
    from rate.training.checkpoint import sealed

    path = checkpoint(run) / CARD
    try:
        card = json.loads(path.read_bytes())
        card["checksums"] = {name: zlib.crc32((path.parent / name).read_bytes()) for name in (WEIGHTS, TRAINING)}
        path.write_text(json.dumps(sealed(card)))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return


def act(run: Path) -> None:
    Run.load(run).actor(1.0).act([0.0] * 4)


def read_training(run: Path) -> None:
    Progress.of(load_checkpoint(resolve_checkpoint(RunDir.open(run).checkpoints, "last"), training=True))


def report(run: Path) -> None:
    groups = experiments([read_run(run)])
    for group in groups:
        [table.to_markdown() for table in score_tables(group)]
    summary_rows([run for group in groups for run in group.runs])


def state(run: Path) -> None:
    run_state(TINY, run)


def resume(run: Path) -> None:
    """All that `rate train --out RUN --resume` reads of a run before it trains."""
    chosen = read_arguments(["--out", str(run), "--resume"])
    check_same_config(RunDir.open(run), config_to_json(chosen.config))


def cut(run: Path) -> None:
    RunDir.open(run).cut_metrics(2)


_ROWS = [
    ("config.json", lambda run: run / "config.json", (resume, report, state), 250, None),
    ("checkpoint.json", lambda run: checkpoint(run) / CARD, (Run.load, read_training), 400, reseal),
    ("weights", lambda run: checkpoint(run) / WEIGHTS, (Run.load,), 150, reseal),
    ("training", lambda run: checkpoint(run) / TRAINING, (read_training,), 100, reseal),
    ("last", lambda run: run / "checkpoints" / "last", (Run.load, state), 60, None),
    ("meta.json", lambda run: run / "meta.json", (report,), 60, None),
    ("environment.json", lambda run: run / "environment.json", (report,), 30, None),
    ("metrics.jsonl", lambda run: run / "metrics.jsonl", (report, cut), 100, None),
    ("eval.jsonl", lambda run: run / "eval.jsonl", (report,), 120, None),
    ("evaluations.jsonl", lambda run: run / "evaluations.jsonl", (report, state), 80, None),
]
ARTEFACTS += [
    Artefact(name=name, make=make, file=file, read=read, count=count, seal=seal)
    for name, file, read, count, seal in _ROWS
]
