"""Environments, one file per family; importing this package fills `ENVS` and Gymnasium's registry.
`import rate` does so: afterwards `gymnasium.make("rate/TMaze-v0")` works.
"""

from __future__ import annotations

from rate.envs import aar, minigrid_memory, popgym, tmaze, tmaze_endless
from rate.envs.spec import ENVS, EnvSpec, EvalCase

__all__ = ["ENVS", "EnvSpec", "EvalCase", "aar", "minigrid_memory", "popgym", "tmaze", "tmaze_endless"]
