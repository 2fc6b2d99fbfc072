"""`rate probe`: how a trained policy keeps its memory, as numbers and as a figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from rate.cli.commands import print_json
from rate.cli.console import OUT, bar
from rate.cli.parse import set_threads
from rate.envs.find import find_env
from rate.errors import ConfigError
from rate.evaluation.agreement import Agreement, agreement, can_be_asked
from rate.evaluation.evaluator import OnStep
from rate.evaluation.probes import Preservation, check_has_memory, probe_memory
from rate.experiment import Run
from rate.reports.figures.preservation import PreservationCurves, write_preservation
from rate.seeding import Purpose, episode_seeds
from rate.serial import to_dict
from rate.system.files import check_own, check_writable

ASKED = 5
"""Episodes in which the expert is asked, one after the other."""


def probe(
    run: tyro.conf.Positional[Path],
    *,
    set: str = "",
    env: str | None = None,
    episodes: int = 20,
    intervene: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    checkpoint: str = "last",
    out: Path | None = None,
    device: str = "cpu",
    threads: int = 0,
    json: bool = False,
) -> None:
    """Measure how much each update changes the memory of a run, beside the bound of the paper's theorem.

    Args:
        run: Run directory, or one checkpoint directory.
        set: Arguments of the environment, as name=value[,name=value]; empty: the longest case of the run.
        env: Environment; None: the one that the run names, which is not imported if it is module:factory: name it then.
        episodes: How many.
        intervene: Change the policy while it acts, as name=strength, such as memory-noise=0.5; repeat to combine.
        checkpoint: last, best or step_N.
        out: Directory for probe.json and the figure; None: `probe` in the run directory.
        device: Where to run: auto, cpu, cuda, mps.
        threads: CPU threads; 0: as many as torch takes.
        json: Print JSON.
    """
    set_threads(threads)
    loaded = Run.load(run, checkpoint, device, env)
    check_has_memory(loaded.policy)
    if out is None and loaded.alone:
        raise ConfigError(f"{run} is a checkpoint on its own; give --out")
    where = out or run / "probe"
    check_own(where, out or run)
    if where.exists() and not where.is_dir():
        raise ConfigError(f"{where} is a file; give a directory for --out")
    check_writable(where / "probe.json")
    with bar("probing") as progress:
        found = _measure(loaded, set, episodes, intervene, progress.on_env_step)
    case = f"{found.case}, {found.intervention}" if found.intervention else found.case
    title = f"{loaded.config.env.name}, {case}: {loaded.config.model.name}, {found.episodes} episodes"
    agreed = _agreement(loaded, set, intervene)
    facts: dict[str, Any] = {"run": str(run), "checkpoint": loaded.checkpoint, "step": loaded.step, "agreement": agreed}
    facts |= found.summary()
    facts = to_dict(facts)  # memory that has grown past all bounds is not a number, which JSON cannot say
    write_preservation(where, facts, _curves(found), title)
    if json:
        return print_json(facts)
    OUT.print(_table(found))
    OUT.print(_retention(found))
    if agreed is not None:
        OUT.print(f"as the expert: {agreed.forced:.1%} of the steps where it acts, {agreed.own:.1%} where it does not")
    OUT.print(f"{where / 'probe.json'}, {where / 'preservation.png'}", markup=False)


def _measure(run: Run, text: str, episodes: int, intervene: tuple[str, ...], on_step: OnStep) -> Preservation:
    config, data = replace(run.config.eval, episodes=episodes), run.config.data
    case = max(run.cases(text), key=lambda one: one.max_steps)
    spec = find_env(run.config.env.name)
    return probe_memory(
        run.policy,
        spec,
        case,
        config,
        return_scale=data.return_scale,
        oracle=data.oracle,
        intervene=intervene,
        on_step=on_step,
    )


def _curves(found: Preservation) -> PreservationCurves:
    updates = found.updates
    bounds, alphas = [one.bound for one in updates], [one.alignment for one in updates]
    return PreservationCurves(
        updates=[one.number for one in updates],
        change=[one.change for one in updates],
        moved=[one.moved for one in updates],
        bound=[one for one in bounds if one] or None,
        alignment=[one for one in alphas if one] or None,
    )


def _table(found: Preservation) -> Table:
    """About ten of the updates; probe.json has all of them."""
    table = Table("update", "episodes", "change", "cosine", "apart", "alpha", "moved (left)", "bound (right)", "holds")
    every = -(-len(found.updates) // 10)
    for one in found.updates[::every]:
        alpha, bound = (f"{value.value:.3f}" if value else "-" for value in (one.alignment, one.bound))
        holds = "-" if one.holds is None else f"{one.holds:.0%}"
        means = (f"{value.value:.3f}" for value in (one.change, one.cosine, one.apart))
        table.add_row(str(one.number), str(one.episodes), *means, alpha, f"{one.moved.value:.3f}", bound, holds)
    return table


def _retention(found: Preservation) -> str:
    late = found.summary()["retention"]
    measured = f"relative change {late['change']:.3g}, cosine {late['cosine']:.4f}, episodes apart {late['apart']:.3g}"
    rows = f"{late['rank']:.1f} of {found.memory_tokens} rows unlike, {late['holding']:.1f} hold what differs"
    return f"from update {late['from_update']} on: {measured}; {rows} between episodes, in {late['room']:.1f} ways"


def _agreement(run: Run, text: str, intervene: tuple[str, ...]) -> Agreement | None:
    """None where the expert cannot be asked, or the policy is changed while it acts."""
    spec, config = find_env(run.config.env.name), run.config.eval
    case = max(run.cases(text), key=lambda one: one.max_steps)
    target = config.target_return if config.target_return is not None else case.target_return
    if intervene or target is None or not can_be_asked(spec, run.policy):
        return None
    seeds = episode_seeds(Purpose.REPORT, config.seed, ASKED).tolist()
    return agreement(run.policy, spec, case, seeds, target_return=target, return_scale=run.config.data.return_scale)
