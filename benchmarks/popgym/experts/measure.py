"""Measures the experts, random actions and the `paper-like` grade on the 48 POPGym tasks, and writes the tables.

    python benchmarks/popgym/experts/measure.py [--episodes 100] [--sem 0.02] [--kinds expert] [--only RepeatFirst ...]

`returns.jsonl` holds the return of every episode. What is in it already is not played again: episodes are added until
there are enough of them and the standard error of their mean is small enough. Delete lines to start over.
"""

from __future__ import annotations

import argparse
import json
import time
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from rate.envs.demonstrate import demonstrate
from rate.envs.popgym import FAMILIES, LEVELS, Family
from rate.envs.popgym.grades import GAMMAS, Factory, paper_like, random_player
from rate.envs.popgym.wrap import make
from rate.seeding import Purpose, episode_seeds

HERE = Path(__file__).parent
RAW = HERE / "returns.jsonl"
SEED = 5
"""Not the one of calibrate.py."""
TOLERANCE = 0.05
"""How far the mean of `paper-like` data may be from the paper's."""
KINDS = ("expert", "random", "paper-like")
Key = tuple[str, str]


def player(family: Family, level: str, kind: str) -> Factory:
    if kind == "random":
        return random_player
    return family.player if kind == "expert" else paper_like(family.player, family.name, LEVELS.index(level))


def measure(family: Family, level: str, kind: str, episodes: int, first: int) -> dict[str, Any]:
    """The returns of episodes from index `first` on, and the CPU time that a thousand of them take."""
    seeds = episode_seeds(Purpose.COLLECT, SEED, episodes, first=first).tolist()
    start = time.process_time()
    played = demonstrate(make(family.name, level), player(family, level, kind), seeds)
    returns = [round(float(item.rewards.sum()), 4) for item in played]
    seconds = (time.process_time() - start) * 1000 / episodes
    return {"task": f"{family.name}-{level}", "kind": kind, "seconds_per_1000": round(seconds, 1), "returns": returns}


def missing(record: dict[str, Any] | None, episodes: int, sem: float) -> int:
    """How many more episodes a record needs to have that many, and a standard error of its mean that small."""
    if record is None or len(record["returns"]) < episodes:
        return episodes - (len(record["returns"]) if record else 0)
    needed = (np.std(record["returns"], ddof=1) / sem) ** 2
    return max(0, int(np.ceil(needed)) - len(record["returns"]))


def known() -> dict[Key, dict[str, Any]]:
    """The records of the file; those of one thing are joined, in the order in which they were played."""
    records = dict[Key, dict[str, Any]]()
    for record in map(json.loads, RAW.read_text().splitlines() if RAW.exists() else []):
        key = (record["task"], record["kind"])
        records[key] = joined(records[key], record) if key in records else record
    # An infinite exponent means no errors: the grade is the expert itself, which is not played twice.
    same = [task for task, _ in records if (task, "expert") in records and exponent(task) == inf]
    return records | {(task, "paper-like"): records[task, "expert"] for task in same}


def exponent(task: str) -> float:
    family, level = task.split("-")
    return GAMMAS[family][LEVELS.index(level)]


def joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both records as one."""
    counts = [len(first["returns"]), len(second["returns"])]
    seconds = float(np.average([first["seconds_per_1000"], second["seconds_per_1000"]], weights=counts))
    return {**first, "seconds_per_1000": round(seconds, 1), "returns": first["returns"] + second["returns"]}


def table(records: dict[Key, dict[str, Any]]) -> str:
    lines = [
        "| task | subset | expert | random | paper's data | paper-like | episodes | expert, CPU s per 1000 episodes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for family in FAMILIES:
        for level, paper in zip(LEVELS, family.paper, strict=True):
            found = [records.get((f"{family.name}-{level}", kind)) for kind in KINDS]
            expert, random, like = (text(record) for record in found)
            episodes = "/".join(str(len(record["returns"])) if record else "-" for record in found)
            seconds = f"{found[0]['seconds_per_1000']:.0f}" if found[0] else "-"
            head = f"| {family.name}-{level} | {family.subset} | {expert} | {random}"
            lines.append(f"{head} | {paper:.2f} | {like} | {episodes} | {seconds} |")
    return "\n".join(lines)


def verdict(records: dict[Key, dict[str, Any]]) -> str:
    """Which tasks miss the paper's return, and the time that the experts take."""
    paper = {f"{family.name}-{level}": family.paper[at] for family in FAMILIES for at, level in enumerate(LEVELS)}
    off = {
        task: abs(np.mean(record["returns"]) - paper[task])
        for (task, kind), record in records.items()
        if kind == "paper-like"
    }
    seconds = {task: record["seconds_per_1000"] for (task, kind), record in records.items() if kind == "expert"}
    missed = ", ".join(task for task, distance in off.items() if distance > TOLERANCE) or "none"
    farthest, slowest = max(off, key=off.__getitem__), max(seconds, key=seconds.__getitem__)
    return (
        f"`paper-like` is measured in {len(off)} of {len(paper)} tasks. "
        f"Means farther than {TOLERANCE} from the paper's: {missed}. "
        f"The largest distance is {off[farthest]:.3f} ({farthest}).\n\n"
        f"1,000 expert episodes of each of {len(seconds)} tasks take {sum(seconds.values()):.0f} CPU seconds; "
        f"the slowest is {slowest} with {seconds[slowest]:.0f}."
    )


def text(record: dict[str, Any] | None) -> str:
    """Mean and standard error."""
    if record is None:
        return "-"
    returns = np.array(record["returns"])
    return f"{returns.mean():.3f} ± {returns.std(ddof=1) / np.sqrt(len(returns)):.3f}"


def summary(records: dict[Key, dict[str, Any]]) -> str:
    """The families, three levels in a cell, for the page of the environments."""
    lines = ["| family | subset | expert | random | paper's data |", "|---|---|---|---|---|"]
    for family in FAMILIES:
        cells = [family.name, family.subset]
        for kind in ("expert", "random"):
            found = [records.get((f"{family.name}-{level}", kind)) for level in LEVELS]
            cells.append(" / ".join(f"{np.mean(record['returns']):.2f}" if record else "-" for record in found))
        cells.append(" / ".join(f"{value:.2f}" for value in family.paper))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def publish(page: Path, text: str) -> None:
    """Put a table between the marks of a page."""
    before, rest = page.read_text().split("<!-- returns:begin -->\n")
    after = rest.split("<!-- returns:end -->")[1]
    page.write_text(f"{before}<!-- returns:begin -->\n{text}\n<!-- returns:end -->{after}")


def extend(family: Family, level: str, kind: str, episodes: int, sem: float) -> None:
    """Play what is missing. Written piece by piece: an interrupted measurement goes on where it was."""
    key = (f"{family.name}-{level}", kind)
    if kind == "paper-like" and exponent(key[0]) == inf:
        return
    record = known().get(key)
    while more := missing(record, episodes, sem):
        new = measure(family, level, kind, more, first=len(record["returns"]) if record else 0)
        record = joined(record, new) if record else new
        with RAW.open("a") as file:
            file.write(json.dumps(new) + "\n")
        print(*key, text(record), f"{record['seconds_per_1000']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100, help="at least")
    parser.add_argument("--sem", type=float, default=0.02, help="largest standard error of a mean return")
    parser.add_argument("--only", nargs="*", help="these families")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    for family in FAMILIES:
        if options.only and family.name not in options.only:
            continue
        for level in LEVELS:
            for kind in options.kinds:
                extend(family, level, kind, options.episodes, options.sem)
    records = known()
    publish(HERE / "README.md", f"{table(records)}\n\n{verdict(records)}")
    publish(HERE.parents[2] / "docs/environments/popgym.md", summary(records))


if __name__ == "__main__":
    main()
