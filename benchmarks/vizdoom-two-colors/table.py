"""The table of the suite `vizdoom` from its raw files: return, red, green and imbalance, with the pillar and without.

    python benchmarks/vizdoom-two-colors/table.py [DIRECTORY]

DIRECTORY holds MODEL/seedN; by default it is `suite`, beside this file. Mean and SEM over runs, or over the episodes of
a single one; in brackets the runs one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from episodes import WAYS, Sample, in_order, judge, label_of

from rate.reports.reading.runs import CaseSummary, read_run

SUITE = Path(__file__).parent / "suite"
ORACLE = "oracle-dt"
CASES = {45: "With the pillar", 0: "Without the pillar"}
HEAD = ("model", "data", "runs", "return", "red", "green", "imbalance", "length", f"share of {ORACLE}")
PAPER = {
    "rate": ((41.5, 1.0), (38.2, 5.1), (44.7, 5.8)),
    "dt": ((24.8, 1.4), (7.2, 0.4), (42.3, 3.3)),
    ORACLE: ((56.5, 0.8), (55.3, 1.6), (57.2, 0.5)),
}
"""Return, red and green with SEM, from the paper's table of DT, RATE and OracleDT."""
DIFFERS = (
    "The paper's numbers are of another scenario and other data: another map with other pictures, played by a trained "
    "A2C agent where ours is played by a script. Compare the order of models and the shares, not the returns."
)


def read(directory: Path) -> dict[tuple[int, str], list[CaseSummary]]:
    """Steps of an episode of the data and label -> the evaluations of its runs, those of both cases."""
    found: dict[tuple[int, str], list[CaseSummary]] = {}
    for path in sorted(config.parent for config in directory.glob("*/seed*/config.json")):
        run = read_run(path)
        for case in run.cases:
            found.setdefault((run.config["train"]["window"], label_of(path)), []).append(case)
    return found


def sample(case: CaseSummary, value: str = "episode_return") -> Sample:
    values = [getattr(record, value) for record in case.records]
    return Sample(values=values, colours=[record.tags["colour"] for record in case.records])


def cell(runs: Sequence[Sample], way: str = "all", digits: int = 2) -> str:
    """Mean and SEM, and each run where there are several."""
    found = judge(runs, way)
    text = f"{found.value:,.{digits}f} ± {found.high - found.value:,.{digits}f}"
    each = ", ".join(f"{run.mean(way):,.{digits}f}" for run in runs)
    return text if len(runs) == 1 else f"{text} ({each})"


def rows(found: Mapping[tuple[int, str], Sequence[CaseSummary]], pillar: int) -> list[tuple[str, ...]]:
    """A row for each label of each length of the data, the oracle's share within it."""
    chosen = {key: [case for case in cases if case.tag("pillar") == pillar] for key, cases in found.items()}
    table = []
    for window in sorted({window for window, _ in chosen}):
        labels = in_order(label for at, label in chosen if at == window and chosen[at, label])
        best = {label: judge([sample(case) for case in chosen[window, label]], "all").value for label in labels}
        for label in labels:
            cases = chosen[window, label]
            returns, lengths = [sample(case) for case in cases], [sample(case, "length") for case in cases]
            share = f"{best[label] / best[ORACLE]:.2f}" if ORACLE in best else ""
            shown = (cell(returns, way) for way in WAYS)
            table.append((f"`{label}`", str(window), str(len(cases)), *shown, cell(lengths, digits=0), share))
    return table


def paper_rows() -> list[tuple[str, ...]]:
    """What the paper reports, in the same columns."""
    table = []
    for model, values in PAPER.items():
        (total, _), (red, _), (green, _) = values
        shown = (f"{mean} ± {error}" for mean, error in values)
        share = f"{total / PAPER[ORACLE][0][0]:.2f}"
        table.append((f"`{model}`", "", "6", *shown, f"{abs(red - green):.1f}", "", share))
    return table


def print_table(title: str, table: Sequence[Sequence[str]]) -> None:
    print(f"{title}\n\n| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    print("\n".join(f"| {' | '.join(row)} |" for row in table) + "\n")


def main() -> None:
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else SUITE
    found = read(directory)
    if not found:
        sys.exit(f"{directory} has no evaluated runs MODEL/seedN")
    longest = max(record.length for cases in found.values() for case in cases for record in case.records)
    for pillar, title in CASES.items():
        print_table(f"**{title}**, episodes of up to {longest:,} steps", rows(found, pillar))
    print_table("**The paper, with the pillar**, episodes of up to 2,100 steps", paper_rows())
    print(DIFFERS)


if __name__ == "__main__":
    main()
