"""Print the table of the README from the raw files: python benchmarks/tmaze/valves/table.py"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from rate.evaluation.intervals import wilson_interval

ROOT = Path(__file__).parent
VALVES = ("ca2", "ca1", "gate", "gru", "lstm", "none")
CASES = (30, 150, 360, 600, 900)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def success(valve: str, case: int) -> str:
    """All seeds pooled, and the seeds one by one."""
    runs = [lines(path) for path in sorted(ROOT.glob(f"{valve}/seed*/eval.jsonl"))]
    won = [[bool(line["success"]) for line in run if line["case"] == f"length={case}"] for run in runs]
    pooled = [one for run in won for one in run]
    rate = wilson_interval(sum(pooled), len(pooled))
    return f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}] ({', '.join(f'{fmean(run):.2f}' for run in won)})"


def retention(valve: str, name: str) -> str:
    """Mean over the seeds of what the probe measured over the second half of the updates; nan: memory overflowed."""
    probes = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob(f"{valve}/seed*/probe.json"))]
    return f"{fmean(float(probe['retention'][name]) for probe in probes):.3g}"


def late(valve: str, name: str) -> str:
    """Mean over seeds and late updates of a measure that not every valve has."""
    probes = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob(f"{valve}/seed*/probe.json"))]
    values = [update[name] for probe in probes for update in probe["updates"][len(probe["updates"]) // 2 :]]
    known = [float(value["value"]) for value in values if value is not None]
    return f"{fmean(known):.2f}" if known else "-"


def main() -> None:
    header = ["valve", *(f"at {case}" for case in CASES), "change", "cosine", "apart", "alpha", "left", "right"]
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for valve in VALVES:
        cells = [success(valve, case) for case in CASES]
        cells += [retention(valve, name) for name in ("change", "cosine", "apart")]
        cells += [late(valve, name) for name in ("alignment", "moved", "bound")]
        print("| " + " | ".join([f"`{valve}`", *cells]) + " |")


if __name__ == "__main__":
    main()
