"""The Hugging Face Hub as a place for pushed runs: hf://OWNER/NAME, and @REVISION to pull an older one.

Its package is asked for only here; who is logged in, and where, is the business of that package.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rate.errors import ConfigError, MissingExtraError, RateError
from rate.experiment.sharing import MANIFEST, pull_folder, push_folder
from rate.system.files import shown

PREFIX = "hf://"
ADDRESS = re.compile(r"hf://(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?", flags=re.ASCII)
FETCHED = ["*.json", "*.jsonl", "README.md", "checkpoints/*"]
"""What is asked for; the rest of a repository is never fetched."""


def push(run: Path, to: str, *, public: bool = False) -> list[str]:
    """Push a run to a directory or to the Hub, where a new repository is private unless it is to be public."""
    if not to.startswith(PREFIX):
        return push_folder(run, Path(to))
    repo, revision = _address(to)
    if revision:
        raise ConfigError(f"{to} names a revision; a push makes the next one: leave @{revision} away")
    hub = _hub()
    with tempfile.TemporaryDirectory(prefix="rate-") as folder, _speaking(to):
        left = push_folder(run, Path(folder) / "run")
        hub.HfApi().create_repo(repo, repo_type="model", private=not public, exist_ok=True)
        told = {"commit_message": "Push a run", "delete_patterns": ["*"]}  # checkpoints of earlier pushes go
        hub.HfApi().upload_folder(repo_id=repo, folder_path=str(Path(folder) / "run"), repo_type="model", **told)
    return left


def pull(source: str, out: Path) -> Path:
    """Pull a run from a directory or the Hub to a directory that is free."""
    if not source.startswith(PREFIX):
        return pull_folder(Path(source), out)
    repo, revision = _address(source)
    hub = _hub()
    with tempfile.TemporaryDirectory(prefix="rate-") as folder, _speaking(source):
        hub.snapshot_download(repo, revision=revision, local_dir=folder, allow_patterns=[MANIFEST, *FETCHED])
        return pull_folder(Path(folder), out)


def _address(text: str) -> tuple[str, str | None]:
    found = ADDRESS.fullmatch(text)
    if not found:
        raise ConfigError(f"{shown(text)!r} is no place on the Hub; write hf://OWNER/NAME")
    return found["repo"], found["revision"]


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtraError("huggingface_hub", "hub") from None
    return huggingface_hub


@contextmanager
def _speaking(place: str) -> Iterator[None]:
    """Whatever a network or its library refuses is one line."""
    try:
        yield
    except RateError:
        raise
    except Exception as reason:
        raise ConfigError(
            f"{shown(place)} cannot be reached: {type(reason).__name__}: {shown(reason, 400)}"
        ) from reason
