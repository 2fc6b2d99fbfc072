"""`rate inspect`: one episode of one or two runs, looked into, as a page for a browser."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import tyro

from rate.cli.commands import print_json
from rate.cli.console import OUT, bar, note
from rate.cli.parse import set_threads
from rate.config import check_seed
from rate.envs.find import find_env
from rate.envs.spec import EvalCase
from rate.errors import ConfigError
from rate.evaluation.evaluator import Evaluator, OnStep
from rate.evaluation.inspection import inspect_policy
from rate.evaluation.intervals import Interval
from rate.experiment import Run
from rate.models.policy import SequencePolicy
from rate.reports.page.inspection.page import RunSeen, render_inspection
from rate.system.files import check_writable, write_atomically


def inspect(
    runs: tyro.conf.Positional[tuple[Path, ...]],
    *,
    set: str = "",
    env: str | None = None,
    info: str | None = None,
    episodes: int = 100,
    seed: int = 0,
    max_steps: int | None = None,
    target_return: float | None = None,
    checkpoint: str = "last",
    out: Path = Path("inspect.html"),
    device: str = "cpu",
    threads: int = 0,
    json: bool = False,
) -> None:
    """Look into one episode of a run, or of two side by side: attention, memory, and what memory knows.

    Args:
        runs: One or two run directories, or checkpoint directories.
        set: Arguments of the environment, as name=value[,name=value]; empty: the longest case of the first run.
        env: Environment; None: the one that the run names, which is not imported if it is module:factory: name it then.
        info: The fact of an episode to probe for, by its name in what reset tells; None: the first that there is.
        episodes: How many the probe learns from, and as many others that it is judged on.
        seed: Seed of the episode that is shown.
        max_steps: Episodes are cut here; None: as the run's configuration or the case says.
        target_return: Return to ask for; None: as the run's configuration or the case says.
        checkpoint: last, best or step_N.
        out: The page to write, an .html file.
        device: Where to run: auto, cpu, cuda, mps.
        threads: CPU threads; 0: as many as torch takes.
        json: Print JSON.
    """
    set_threads(threads)
    check_seed("--seed", seed)
    loaded = _load(runs, checkpoint, device, env)
    _check_out(out)
    case = max(loaded[0].cases(set), key=lambda one: one.max_steps)
    given = {"episodes": episodes, "max_steps": max_steps, "target_return": target_return}
    asked = {name: value for name, value in given.items() if value is not None}
    with bar("inspecting") as progress:
        seen = [_seen(run, case, asked, seed, info, progress.on_env_step) for run in loaded]
    title = f"{loaded[0].config.env.name}, {case.name}, seed {seed}"
    page = render_inspection(f"{' and '.join(run.model for run in seen)} in {title}", _lead(seen[0]), seen)
    write_atomically(out, page)
    _say(out, seen, json)


def _load(paths: tuple[Path, ...], checkpoint: str, device: str, env: str | None) -> list[Run]:
    if len(paths) not in (1, 2):
        raise ConfigError(f"{len(paths)} runs were given; give one, or two to see them side by side")
    runs = [Run.load(path, checkpoint, device, env) for path in paths]
    for run in runs:
        if not run.config.env.name:
            raise ConfigError(f"{run.path} has no environment to play an episode in, only data; name one: --env")
    if len({run.config.env.name for run in runs}) > 1:
        names = " and ".join(run.config.env.name for run in runs)
        raise ConfigError(f"the runs are of {names}; side by side they play the same episode: name one by --env")
    return runs


def _check_out(out: Path) -> None:
    if out.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"{out} is no page; give a file that ends in .html for --out")
    if not out.parent.is_dir():
        raise ConfigError(f"the directory {out.parent} does not exist; make it first")
    check_writable(out)


def _seen(run: Run, case: EvalCase, asked: dict[str, Any], seed: int, info: str | None, on_step: OnStep) -> RunSeen:
    config, data = run.config, run.config.data
    evaluator = Evaluator(
        spec=find_env(config.env.name),
        config=replace(config.eval, **asked),
        return_scale=data.return_scale,
        oracle=data.oracle,
        success=config.env.rule,
    )
    seen = inspect_policy(run.policy, evaluator, case, seed=seed, info=info, on_step=on_step)
    trained = f"checkpoint {run.checkpoint} (step {run.step})"
    about = f"{_reach(run.policy)}, {run.policy.parameter_count():,} parameters, {trained}"
    return RunSeen(name=str(run.path), about=about, model=config.model.name, seen=seen)


def _reach(policy: SequencePolicy[Any]) -> str:
    """How far back it sees, in words."""
    if policy.context is not None:
        return f"sees the last {policy.context} steps"
    return f"segments of {policy.segment_len} steps" if policy.segment_len else "carries a state from step to step"


def _lead(first: RunSeen) -> str:
    known = first.seen.knowledge
    if known is None:
        return "The environment tells no fact of an episode when it is reset, so there is nothing to probe for."
    return (
        f"{known.fact} is {first.seen.fact} in this episode. Linear probes of it learnt from {known.learnt_from} other "
        f"episodes and were judged on {known.judged_on} more."
    )


def _say(out: Path, runs: list[RunSeen], json: bool) -> None:
    for run in runs:
        if not run.seen.carries_memory:
            note(f"{run.name} carries no memory embeddings from segment to segment; its hidden vector is shown instead")
    facts = {"out": str(out), "bytes": out.stat().st_size, "runs": [_facts(run) for run in runs]}
    if json:
        return print_json(facts)
    for run in runs:
        OUT.print(_line(run), markup=False)
    OUT.print(f"{out}, {out.stat().st_size / 1e6:.1f} MB: open it in a browser", markup=False)


def _facts(run: RunSeen) -> dict[str, Any]:
    seen, known = run.seen, run.seen.knowledge
    curves = {} if known is None else {curve.of: _course(curve.steps, curve.accuracy) for curve in known.curves}
    fact = None if known is None else known.fact
    facts = {"run": run.name, "steps": len(seen.actions), "return": sum(seen.rewards), "success": seen.success}
    return {**facts, "info": fact, "accuracy": curves}


def _course(steps: list[int], accuracy: list[Interval]) -> list[dict[str, float]]:
    return [{"step": step, **asdict(at)} for step, at in zip(steps, accuracy, strict=True)]


def _line(run: RunSeen) -> str:
    """How the episode went, and what a probe reads at the end."""
    seen, known = run.seen, run.seen.knowledge
    verdict = {None: "", True: ", success", False: ", no success"}[seen.success]
    went = f"{run.model} of {run.name}: {len(seen.actions)} steps, return {sum(seen.rewards):.4g}{verdict}"
    if known is None:
        return f"{went}; no fact to probe for"
    ends = [f"{curve.of} {curve.accuracy[-1]} at step {curve.steps[-1]}" for curve in known.curves if curve.steps]
    return f"{went}; {known.fact} read from {', '.join(ends) or 'nothing'} (chance {known.chance:.2f})"
