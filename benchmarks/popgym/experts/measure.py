"""Measures the experts, random actions and the `paper-like` grade on the 48 POPGym tasks, and writes the tables.

    python benchmarks/popgym/experts/measure.py [--episodes 200] [--only RepeatFirst ...]

`returns.jsonl` holds the return of every episode. What is in it already, with as many episodes or more, is not played
again; delete the file, or lines of it, to start over.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from rate.envs.demonstrate import demonstrate
from rate.envs.popgym import FAMILIES, LEVELS, Family
from rate.envs.popgym.grades import Factory, paper_like, random_player
from rate.envs.popgym.wrap import make
from rate.seeding import Purpose, episode_seeds

HERE = Path(__file__).parent
RAW = HERE / "returns.jsonl"
SEED = 5
"""Not the one of calibrate.py."""
KINDS = ("expert", "random", "paper-like")
Key = tuple[str, str]


def player(family: Family, level: str, kind: str) -> Factory:
    if kind == "random":
        return random_player
    return family.player if kind == "expert" else paper_like(family.player, family.name, LEVELS.index(level))


def measure(family: Family, level: str, kind: str, episodes: int) -> dict[str, Any]:
    """The returns of new episodes, and the CPU time that a thousand of them take."""
    seeds = episode_seeds(Purpose.COLLECT, SEED, episodes).tolist()
    start = time.process_time()
    played = demonstrate(make(family.name, level), player(family, level, kind), seeds)
    returns = [round(float(item.rewards.sum()), 4) for item in played]
    seconds = (time.process_time() - start) * 1000 / episodes
    return {"task": f"{family.name}-{level}", "kind": kind, "seconds_per_1000": round(seconds, 1), "returns": returns}


def known() -> dict[Key, dict[str, Any]]:
    lines = RAW.read_text().splitlines() if RAW.exists() else []
    # Of two records of one thing the later one counts.
    return {(record["task"], record["kind"]): record for record in map(json.loads, lines)}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--only", nargs="*", help="these families")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    records = known()
    for family in FAMILIES:
        if options.only and family.name not in options.only:
            continue
        for level in LEVELS:
            for kind in options.kinds:
                key = (f"{family.name}-{level}", kind)
                if key in records and len(records[key]["returns"]) >= options.episodes:
                    continue
                records[key] = measure(family, level, kind, options.episodes)
                # Written after every task: an interrupted measurement goes on where it was, and two may run at once.
                with RAW.open("a") as file:
                    file.write(json.dumps(records[key]) + "\n")
                print(*key, text(records[key]), f"{records[key]['seconds_per_1000']} s", flush=True)
    publish(HERE / "README.md", table(known()))
    publish(HERE.parents[2] / "docs/environments/popgym.md", summary(known()))


if __name__ == "__main__":
    main()
