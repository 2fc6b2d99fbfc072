"""`rate export`: a trained policy that runs without this library."""

from __future__ import annotations

from pathlib import Path

import tyro

from rate.cli.commands import print_json
from rate.cli.console import OUT, note
from rate.experiment import Run
from rate.export import check_extra, export_run


def export(
    run: tyro.conf.Positional[Path],
    *,
    out: Path,
    checkpoint: str = "last",
    target_return: float | None = None,
    env: str | None = None,
    json: bool = False,
) -> None:
    """Write a run's policy as ONNX graphs, with a card and a runner that needs NumPy and onnxruntime only.

    Args:
        run: Run directory, or one checkpoint directory.
        out: Directory to make.
        checkpoint: last, best (validation loss), best-return (return while training) or step_N.
        target_return: Return to ask for unless the caller of the runner names another; None: that of the first case.
        env: Environment; None: the one that the run names, which is not imported if it is module:factory: name it then.
        json: Print the card.
    """
    check_extra()
    loaded = Run.load(run, checkpoint, env=env)
    card = export_run(loaded, out, target_return)
    if json:
        return print_json(card)
    if loaded.config.eval.sample:
        note("this run is evaluated with sampled actions; the export takes the most likely ones")
    checked = "{steps} steps, largest difference from the policy {largest_difference:.1e}".format_map(card["checked"])
    OUT.print(f"{card['model']}, {' and '.join(card['graphs'])} in {out}; checked over {checked}", markup=False)
