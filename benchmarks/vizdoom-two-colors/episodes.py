"""Episodes of trained runs in Two-Colors: played and kept as lines of a file, judged by the colour of the pillar.

`figures.py` and `rq1.py` play, `table.py` reads what the runs recorded themselves; all three judge alike.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rate
from rate.evaluation.evaluator import Evaluator
from rate.evaluation.intervals import Interval, mean_sem
from rate.evaluation.rollout import LockStep
from rate.recipes.vizdoom import MODELS

BLOCK = 90
"""Steps over which rewards are summed: as long as the windows of the data, so the first block is inside of one."""
COLOURS = ("red", "green")
WAYS = ("all", *COLOURS, "imbalance")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One evaluation of a run."""

    pillar: int = 45
    target: float
    intervene: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One value for each episode of one run, and the colour of its pillar."""

    values: Sequence[float]
    colours: Sequence[str]

    def of(self, colour: str) -> list[float]:
        """The values of red or green episodes, or of all."""
        pairs = zip(self.values, self.colours, strict=True)
        return [value for value, known in pairs if colour in ("all", known)]

    def mean(self, way: str) -> float:
        if way == "imbalance":
            return abs(self.mean("red") - self.mean("green"))
        return float(np.mean(self.of(way)))


def judge(runs: Sequence[Sample], way: str) -> Interval:
    """Mean and one SEM to either side: over the means of several runs, or over the episodes of one.

    The imbalance is that of each run: means over runs would hide that one prefers red and another green.
    """
    if len(runs) > 1:
        return mean_sem([run.mean(way) for run in runs])
    if way != "imbalance":
        return mean_sem(runs[0].of(way))
    spread = math.hypot(*(one.high - one.value for one in (judge(runs, colour) for colour in COLOURS)))
    value = runs[0].mean(way)
    return Interval(value, value - spread, value + spread)


def label_of(path: Path) -> str:
    """The directory of a run's seeds: the model, and what is special to it."""
    return path.resolve().parent.name


def in_order(labels: Iterable[str]) -> list[str]:
    """Models as the recipes name them, each before its variants."""
    names = {name: at for at, name in enumerate(MODELS)}
    known = {label: label if label in names else label.rsplit("-", 1)[0] for label in set(labels)}
    return sorted(known, key=lambda label: (names.get(known[label], len(names)), label))


def play(run: rate.Run, setting: Setting, episodes: int, max_steps: int | None) -> dict[str, Any]:
    """Colour, return, length and the rewards of each block of steps, for each episode."""
    case = next(case for case in run.cases() if case.tags["pillar"] == str(setting.pillar))
    data, how = run.config.data, run.config.eval
    how = replace(how, episodes=episodes, batch=min(how.batch, episodes), max_steps=max_steps)
    evaluator = Evaluator(
        spec=rate.ENVS.get(run.config.env.name),
        config=replace(how, target_return=setting.target),
        return_scale=data.return_scale,
        oracle=data.oracle,
        intervene=setting.intervene,
    )
    watch = Blocks()
    batches = evaluator.play(run.policy, case, watch)
    found = [episodes for _, episodes in batches]
    return {
        "colour": [str(colour) for part in found for colour in part.facts["colour"]],
        "return": [round(float(value), 4) for part in found for value in part.returns],
        "length": [int(length) for part in found for length in part.lengths],
        "rewards": watch.rewards(),
    }


class Blocks:
    """Watches episodes and sums their rewards over blocks of steps."""

    def __init__(self) -> None:
        self._batches: list[list[list[float]]] = []

    def __call__(self, step: LockStep) -> None:
        if step.number == 1:
            self._batches.append([[] for _ in step.rows])
        block = (step.number - 1) // BLOCK
        for row, reward in zip(step.rows[step.alive], step.reward[step.alive], strict=True):
            sums = self._batches[-1][row]
            if len(sums) == block:
                sums.append(0.0)
            sums[block] += float(reward)

    def rewards(self) -> list[list[float]]:
        """For each episode, as many sums as it lived to see blocks begin."""
        return [[round(value, 4) for value in sums] for batch in self._batches for sums in batch]


def measure(given: argparse.Namespace, settings: Callable[[rate.Run], Iterable[Setting]]) -> None:
    """Play each run in each of its settings that the file does not have, and append a line."""
    torch.set_num_threads(1)
    done = {identity(line) for line in lines(given.out)} if given.out.exists() else set()
    for path in given.runs:
        run = rate.Run.load(path)
        for setting in settings(run):
            about = describe(run, setting, given.episodes, given.max_steps)
            if identity(about) in done:
                continue
            began, found = time.perf_counter(), play(run, setting, given.episodes, given.max_steps)
            about["seconds"] = round(time.perf_counter() - began, 1)
            with given.out.open("a") as file:
                file.write(json.dumps({**about, **found}) + "\n")
            what = ", ".join(
                f"{name} {about[name]}" for name in ("run", "pillar", "target", "intervene") if about[name] != ""
            )
            print(f"{what}: {np.mean(found['return']):.2f} in {about['seconds']:.0f} s", flush=True)


def describe(run: rate.Run, setting: Setting, episodes: int, max_steps: int | None) -> dict[str, Any]:
    """What a line says besides what came out."""
    usual = run.config.eval.target_return
    return {
        "run": f"{label_of(run.path)}/{run.path.resolve().name}",
        "step": run.step,
        "window": run.config.train.window,
        "pillar": setting.pillar,
        "target": round(setting.target, 4),
        "usual": None if usual is None else round(usual, 4),
        "intervene": "+".join(setting.intervene),
        "episodes": episodes,
        "max_steps": max_steps or run.cases()[0].max_steps,
    }


def identity(line: dict[str, Any]) -> tuple[Any, ...]:
    """What a line is known by; one that is in the file already is not played again."""
    names = ("run", "step", "pillar", "target", "intervene", "episodes", "max_steps")
    return tuple(line[name] for name in names)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text().splitlines())


def newest(path: Path) -> list[dict[str, Any]]:
    """The last line of each run and setting."""
    return list(
        {tuple(line[name] for name in ("run", "pillar", "target", "intervene")): line for line in lines(path)}.values()
    )


def samples(
    found: Iterable[dict[str, Any]], value: Callable[[dict[str, Any]], Sequence[float]]
) -> dict[str, list[Sample]]:
    """Label to one value per episode, a sample for each run."""
    by_label: dict[str, list[Sample]] = {}
    for line in found:
        sample = Sample(values=value(line), colours=line["colour"])
        by_label.setdefault(line["run"].split("/")[0], []).append(sample)
    return {label: by_label[label] for label in in_order(by_label)}


def reader(description: str | None) -> argparse.ArgumentParser:
    """The commands `measure RUN... --out FILE` and `draw FILE`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    playing = commands.add_parser("measure", help="play trained runs; what is in the file is not played again")
    playing.add_argument("runs", type=Path, nargs="+")
    playing.add_argument("--out", type=Path, required=True)
    playing.add_argument("--episodes", type=int, default=50)
    playing.add_argument("--max-steps", type=int, help="cut episodes here, to try it out")
    drawing = commands.add_parser("draw", help="draw the file, beside it or in a directory of your own")
    drawing.add_argument("file", type=Path)
    drawing.add_argument("--to", type=Path)
    return parser
