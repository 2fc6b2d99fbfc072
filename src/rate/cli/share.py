"""`rate push` and `rate pull`: a run to and from a directory or the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import tyro

from rate.cli.console import OUT, note
from rate.experiment.hub import pull as pull_run
from rate.experiment.hub import push as push_run


def push(run: tyro.conf.Positional[Path], to: tyro.conf.Positional[str], *, public: bool = False) -> None:
    """Push a run: its configuration, logs, card and checkpoints, with a list of them and their checksums.

    Args:
        run: Run directory.
        to: A directory, which is new, empty or an earlier push; or hf://OWNER/NAME (extra hub, and a login there).
        public: Whether a repository that is made on the Hub can be seen by all.
    """
    left = push_run(run, to, public=public)
    if left:
        note(f"{len(left)} other file(s) stay behind, such as {left[0]}")
    note("config.json and environment.json tell paths, the command and versions of this machine")
    OUT.print(f"pushed to {to}", markup=False)


def pull(source: tyro.conf.Positional[str], *, out: Path) -> None:
    """Pull a run that was pushed; its checksums are compared, and nothing of it is loaded.

    Args:
        source: A directory that was pushed to; or hf://OWNER/NAME[@REVISION] (extra hub).
        out: Run directory to make.
    """
    made = pull_run(source, out)
    OUT.print(f"pulled to {made}\nevaluate it with: rate eval {made}", markup=False)
