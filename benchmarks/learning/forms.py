"""The forms of the valve: room in memory, what disturbance costs, and return, from the runs of `valve-forms`.

rate suite valve-forms --jobs 2 --threads 1 --no-report
python benchmarks/learning/forms.py measure runs/valve-forms > benchmarks/learning/forms.jsonl
python benchmarks/learning/forms.py table benchmarks/learning/forms.jsonl
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import rate
from rate.envs.find import find_env
from rate.evaluation.probes import probe_memory
from rate.recipes.standard import CASES, FORMS

DISTURBED = "memory-noise=0.3"
"""Noise on memory at every update while the policy acts."""
EPISODES = 50


def measured(path: Path) -> dict[str, Any]:
    """One run: rank and room of memory at the length of the data, and returns with and without disturbance."""
    run = rate.load(path)
    task, form, seed = path.parts[-3:]
    texts, config = CASES.get(task, ("",)), replace(run.config.eval, episodes=EPISODES)
    case = run.cases(texts[0])[0]
    kept = probe_memory(
        run.policy, find_env(run.config.env.name), case, config, return_scale=run.config.data.return_scale
    )
    found = {"task": task, "form": form, "seed": int(seed.removeprefix("seed")), **kept.summary()["retention"]}
    for text in texts:
        for name, intervene in (("plain", ()), ("disturbed", (DISTURBED,))):
            records = run.evaluate(text, config=config, intervene=intervene, skip_done=False)[0].records
            found[f"{name} {text}".strip()] = sum(record.episode_return for record in records) / len(records)
    return found


def table(lines: list[dict[str, Any]]) -> None:
    """By task and form, the seeds one by one."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        found[line["task"], line["form"]].append(line)
    for task in dict.fromkeys(task for task, _ in found):
        names = [name for name in found[task, "ca2"][0] if name.startswith(("plain", "disturbed"))]
        print(f"\n| {task} | rank | room | " + " | ".join(names) + " |\n" + "|---" * (3 + len(names)) + "|")
        for form in FORMS:
            seeds = sorted(found[task, form], key=lambda line: line["seed"])
            row = [", ".join(f"{line[name]:.1f}" for line in seeds) for name in ("rank", "room")]
            row += [", ".join(f"{line[name]:.2f}" for line in seeds) for name in names]
            print(f"| `{form}` | " + " | ".join(row) + " |")


if __name__ == "__main__":
    torch.set_num_threads(1)
    what, where = sys.argv[1], Path(sys.argv[2])
    if what == "measure":
        for path in sorted(path.parent for path in where.glob("*/*/seed*/evaluations.jsonl")):
            print(json.dumps(measured(path)), flush=True)
    else:
        table([json.loads(line) for line in where.read_text().splitlines()])
