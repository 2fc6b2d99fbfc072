"""Environments, one file per family; importing this package fills `ENVS` and Gymnasium's registry.

`import rate` does so: afterwards `gymnasium.make("rate/TMaze-v0")` works.
"""

from __future__ import annotations

from rate.envs.spec import ENVS, EnvSpec, EvalCase
from rate.registry import import_files

__all__ = ["ENVS", "EnvSpec", "EvalCase"]

import_files(__name__, __path__)
