"""The commands of `rate`, each a plain function whose signature is its help.

A command puts library calls together and prints; it decides nothing.
"""

from __future__ import annotations

import fnmatch
import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rate.cli.console import OUT, bar, note
from rate.cli.parse import set_threads
from rate.config import check_seed
from rate.data.open import open_data
from rate.data.store import TrajectoryStore
from rate.envs import ENVS
from rate.envs.find import find_env
from rate.envs.spec import CollectRequest, EnvSpec
from rate.errors import ConfigError
from rate.evaluation.evaluator import CaseResult
from rate.evaluation.familiar import in_words
from rate.evaluation.held_out import HeldOut
from rate.experiment import Run, collect_once, collect_to, data_root
from rate.experiment.on_ray import OnRay
from rate.options import parse_options
from rate.reports import write_report
from rate.system.files import LONGEST_LINE, plain, shown


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def collect(
    env: tyro.conf.Positional[str],
    *,
    episodes: int = 2000,
    seed: int = 0,
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    workers: int = 1,
    ray: str | None = None,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Collect a data set from an environment's expert; the same command goes on with one that was stopped.

    Args:
        env: Environment, as `rate list envs` shows it, or a pattern such as 'popgym/*' for one data set of each.
        episodes: How many.
        seed: Another seed gives other episodes.
        set: An option of the expert, as name=value; repeat for more.
        workers: Processes that collect, which pays for slow experts; 0: one per core. The data is the same.
        ray: Collect on the Ray cluster at host:port; without an address: $RAY_ADDRESS, else this machine.
        out: Directory to make; by default one under $RATE_DATA or ./data, named after the request.
        json: Print JSON.
    """
    check_seed("--seed", seed)
    names = [env] if env in ENVS else fnmatch.filter(ENVS.names(), env) or [env]
    if out is not None and len(names) > 1:
        raise ConfigError(f"--out names one data set and {env!r} {len(names)} environments; leave --out away")
    request = CollectRequest(episodes=episodes, seed=seed, kwargs=parse_options(set))
    rows = []
    for name in names:
        began = time.perf_counter()
        executor = None if ray is None else OnRay(address=ray, shared=out.parent if out else data_root(), fresh=False)
        path, store = _collected(find_env(name), request, executor or workers, out)
        row = {"path": str(path), "episodes": len(store), "steps": int(store.lengths.sum())}
        rows.append({"environment": name, **row, "seconds": round(time.perf_counter() - began, 3)})
        if not json:
            line = "{environment}: {episodes} episodes, {steps} steps, {seconds:.1f} s, in {path}"
            OUT.print(line.format_map(rows[-1]), markup=False)
    if json:
        print_json(rows if len(names) > 1 else rows[0])


def _collected(
    spec: EnvSpec, request: CollectRequest, by: int | OnRay, out: Path | None
) -> tuple[Path, TrajectoryStore]:
    workers, executor = (by, None) if isinstance(by, int) else (1, by)
    with bar(f"preparing {spec.name}") as progress:
        if out is not None:
            collect_to(spec, request, out, workers=workers, executor=executor, on_episode=progress.on_episode)
        path = out or collect_once(spec, request, progress.on_episode, workers=workers, executor=executor)
        return path, open_data(path, data_root())


def evaluate(
    run: tyro.conf.Positional[Path],
    *,
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    env: str | None = None,
    episodes: int | None = None,
    batch: int | None = None,
    checkpoint: str = "last",
    seed: int | None = None,
    target_return: float | None = None,
    prompt: str | None = None,
    intervene: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    max_steps: int | None = None,
    skip_done: bool = False,
    held_out: tyro.conf.FlagCreatePairsOff[bool] = False,
    device: str = "cpu",
    threads: int = 0,
    json: bool = False,
) -> None:
    """Evaluate a run and record every episode in it.

    A run without an environment is judged by how well it predicts the actions of held-out episodes.

    Args:
        run: Run directory, or one checkpoint directory (then nothing is recorded).
        set: Arguments of the environment for one case, as name=value[,name=value]; repeat for more cases.
        env: Environment; None: the one that the run names, which is not imported if it is module:factory: name it then.
        episodes: Per case; None: as the run's configuration says.
        batch: Episodes in lock-step; None: as the run's configuration says.
        checkpoint: last, best (validation loss), best-return (return while training) or step_N.
        seed: Seed of the episodes; None: as the run's configuration says.
        target_return: Return to ask for; None: the one that each case names.
        prompt: Return-to-go to show: countdown, constant, per-segment, none; None: as the run's configuration says.
        intervene: Change the policy while it acts, as name=strength, such as memory-noise=0.5; repeat to combine.
        max_steps: Episodes are cut here; None: as the run's configuration or the case says.
        skip_done: Skip cases of which this checkpoint has as many episodes recorded.
        held_out: Instead of playing, tell the action error on the episodes that were held out of training.
        device: Where to run: auto, cpu, cuda, mps.
        threads: CPU threads; 0: as many as torch takes.
        json: Print JSON.
    """
    set_threads(threads)
    loaded = Run.load(run, checkpoint, device, env)
    if held_out or not (loaded.config.env.name or set):
        return _show_held_out(loaded.held_out(), json)
    asked: dict[str, Any] = {"episodes": episodes, "batch": batch, "seed": seed, "target_return": target_return}
    asked |= {"max_steps": max_steps, "prompt": prompt}
    chosen = replace(loaded.config.eval, **{name: value for name, value in asked.items() if value is not None})
    with bar("evaluating") as progress:
        results = loaded.evaluate(
            set, config=chosen, intervene=intervene, skip_done=skip_done, on_step=progress.on_env_step
        )
    if loaded.alone:
        note(f"{run} is a checkpoint on its own; nothing is recorded")
    _show_cases(results, len(loaded.cases(set, chosen)) - len(results), json)


def _show_cases(results: list[CaseResult], skipped: int, json: bool) -> None:
    for result in results:
        if result.cut:
            cut = f"{result.cut} of {len(result.records)} episodes of {result.case.name}"
            note(f"{cut} were cut after {result.case.max_steps} steps; give a larger --max-steps to play them out")
    if skipped:
        note(f"{skipped} case(s) skipped: recorded already")
    if json:
        print_json([case_row(result) for result in results])
    elif results:
        OUT.print(case_table(results))
        for line in familiar_lines(results):
            OUT.print(line, markup=False)


def _show_held_out(found: HeldOut, json: bool) -> None:
    total = found.total
    if json:
        return print_json({**asdict(total), "episodes": len(found.episodes)})
    exact = f"accuracy {total.accuracy:.4g}" if total.accuracy is not None else ""
    measured = exact or f"mean absolute error {total.absolute_error:.4g}"
    where = f"{len(found.episodes)} held-out episodes, {total.steps} steps"
    OUT.print(f"{where}: loss {total.loss:.4g}, {measured}", markup=False)


def case_row(result: CaseResult) -> dict[str, Any]:
    rate, mean = result.success_rate, result.return_mean
    return {
        "case": result.case.name,
        "intervention": result.records[0].intervention,
        "episodes": len(result.records),
        "success_rate": asdict(rate) if rate else None,
        **({result.score.name: result.scored.value} if result.score.kind == "normalised" else {}),
        "return_mean": mean.value,
        "return_sem": mean.value - mean.low if len(result.records) > 1 else None,
        "familiar": result.familiar,
        "ms_per_step": result.ms_per_step,
        "seconds": result.seconds,
    }


def familiar_lines(results: list[CaseResult]) -> list[str]:
    """One line on what training had seen of the evaluated episodes, where that is known."""
    found = in_words({result.case.name: result.familiar for result in results})
    known = results[0].known
    if not found or known is None:
        return []
    among = "training saw one only" if known == 1 else f"training saw {known:,} different ones"
    return [f"first observations that training held: {found} ({among}; what comes after them may be new)"]


def case_table(results: list[CaseResult]) -> Table:
    normalised = any(result.score.kind == "normalised" for result in results)
    judged = "normalised score ± SEM" if normalised else "success rate [95 %]"
    table = Table("case", "episodes", judged, "return ± SEM", "ms / step", "seconds")
    for result in results:
        rate, mean, score = result.success_rate, result.return_mean, result.scored
        success = f"{rate.value:.2f} \\[{rate.low:.2f}, {rate.high:.2f}]" if rate else "-"
        success = f"{score.value:.1f} ± {score.value - score.low:.1f}" if normalised else success
        returns = f"{mean.value:.3f} ± {mean.value - mean.low:.3f}"
        cost = (f"{result.ms_per_step:.2f}", f"{result.seconds:.1f}")
        intervention = result.records[0].intervention
        name = f"{result.case.name}, {intervention}" if intervention else result.case.name
        table.add_row(escape(name), str(len(result.records)), success, returns, *cost)
    return table


def report(runs: tyro.conf.Positional[tuple[Path, ...]], *, out: Path = Path("report"), json: bool = False) -> None:
    """Make tables, figures and one self-contained page from runs.

    Args:
        runs: Run directories.
        out: Directory for the report.
        json: Print the rows of summary.json.
    """
    made = write_report(runs, out)
    if json:
        return print(made.summary.read_text(encoding="utf-8"))
    print(plain(made.table))
    for line in made.notes:
        print(f"note: {shown(line, LONGEST_LINE)}")
    print(f"\n{plain(str(made.page))}")


def doctor(*, json: bool = False) -> int:
    """Check this installation: versions, devices, extras, writable places, one training step.

    The exit code is 1 if something is bad.

    Args:
        json: Print JSON.
    """
    from rate.cli.doctor import diagnose

    findings = diagnose()
    if json:
        print_json([asdict(finding) for finding in findings])
    for finding in [] if json else findings:
        mark, style = {"ok": ("ok", "green"), "absent": ("--", "yellow"), "bad": ("bad", "red")}[finding.state]
        OUT.print(Text.assemble((f"{mark:>3}", style), f"  {finding.what}: {finding.detail}"))
    return int(any(finding.state == "bad" for finding in findings))


def bench(*, json: Path | None = None, quick: bool = False) -> None:
    """Measure acting and training, as ratios within one run.

    Args:
        json: File to save the figures in.
        quick: Fewer repetitions; the figures are rougher.
    """
    from rate.bench.run import run_bench
    from rate.bench.table import tables
    from rate.system.files import write_json

    if json is not None:
        json.parent.mkdir(parents=True, exist_ok=True)
        if json.is_dir():
            raise ConfigError(f"{json} is a directory; give a file for --json")
    with bar("measuring") as progress:
        figures = run_bench(quick=quick, on_progress=progress.to)
    for table in tables(figures):
        OUT.print(table)
    if json is not None:
        write_json(json, figures)
        OUT.print(f"saved in {json}")
