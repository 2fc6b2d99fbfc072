"""Write the returns of the behaviour policies into docs/environments/mujoco.md and benchmarks/mujoco/README.md.

python benchmarks/mujoco/behaviour/table.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from rate.envs.mujoco.grades import GRADES
from rate.envs.mujoco.tasks import WALKERS

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "docs/environments/mujoco.md", ROOT / "benchmarks/mujoco/README.md")
POLICIES = ROOT / "src/rate/envs/mujoco/policies"


def table() -> str:
    lines = [f"| walker | {' | '.join(GRADES)} |", "|---|" + "---|" * len(GRADES)]
    for walker in WALKERS:
        returns = json.loads((POLICIES / f"{walker}.json").read_text())["returns"]
        cells = [f"{returns[grade]['mean']:.0f} ± {returns[grade]['std']:.0f}" for grade in GRADES]
        lines.append(f"| {walker} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    for page in PAGES:
        text = re.sub(
            r"(<!-- returns:begin -->\n).*?(<!-- returns:end -->)",
            lambda found: f"{found[1]}{table()}\n{found[2]}",
            page.read_text(),
            flags=re.DOTALL,
        )
        page.write_text(text)


if __name__ == "__main__":
    main()
