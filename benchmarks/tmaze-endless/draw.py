"""Draw by_corridor.jsonl: the share of right turns at the k-th corridor, by model, over training seeds.

python benchmarks/tmaze-endless/draw.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
TRAINED = 3
COLOURS = {"rate": "#0072b2", "rmt": "#56b4e9", "dt": "#d55e00", "bc-lstm": "#009e73", "dmamba": "#cc79a7"}
MARKS = dict(zip(COLOURS, "osD^v", strict=True))


def main() -> None:
    curves = defaultdict(list)
    for line in (HERE / "by_corridor.jsonl").read_text().splitlines():
        found = json.loads(line)
        curves[found["model"]].append(found["right"])
    figure, axes = plt.subplots(figsize=(6.4, 3.6), constrained_layout=True)
    for model, rows in curves.items():
        corridor = np.arange(1, len(rows[0]) + 1)
        style = {"color": COLOURS.get(model), "marker": MARKS.get(model), "markersize": 4}
        axes.plot(corridor, np.mean(rows, 0), label=f"{model} ({len(rows)} seed{'s' * (len(rows) > 1)})", **style)
    axes.axvline(TRAINED + 0.5, color="grey", linewidth=1, linestyle=":")
    axes.text(TRAINED + 0.6, 0.03, "longer than trained", color="grey", fontsize=8)
    axes.axhline(0.5, color="grey", linewidth=1, linestyle="--")
    axes.set(xlabel="corridor", ylabel="right turns, of those made", ylim=(0, 1.03), xticks=corridor)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(HERE / "by_corridor.png", dpi=130)


if __name__ == "__main__":
    main()
