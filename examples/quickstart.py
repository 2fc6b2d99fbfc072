"""The quickstart: train RATE and DT on T-Mazes of 30 steps, evaluate far beyond, and write one report.

Every line it runs is a `rate` command that you can run by hand; a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time

from rate.cli.main import main as rate


def commands(out: str, extra: list[str]) -> list[list[str]]:
    """What the quickstart does, in order."""
    runs = {model: f"{out}/{model}" for model in ("rate", "dt")}
    one = ["--threads", "1"]  # the matrices are small: a second thread costs more than it brings
    given = [*one, "--train.steps", "2000", *extra]  # a third of the recipe's: one bit is soon learnt
    trained = [["train", f"tmaze/{model}", "--out", run, "--resume", *given] for model, run in runs.items()]
    evaluated = [["eval", run, "--skip-done", *one] for run in runs.values()]
    return [*trained, *evaluated, ["report", *runs.values(), "--out", f"{out}/report"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="runs/quickstart", help="directory for runs and report")
    chosen, extra = parser.parse_known_args()
    began = time.perf_counter()
    for words in commands(chosen.out, extra):
        print(f"\n$ rate {shlex.join(words)}", flush=True)
        code = rate(words)
        if code:
            return code
    print(f"\nAll of it took {(time.perf_counter() - began) / 60:.1f} minutes. Files are in {chosen.out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
