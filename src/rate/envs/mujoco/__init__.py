"""MuJoCo: three walkers of Gymnasium (v5) with behaviour policies of D4RL's grades, whole or partially observed.
`tasks` holds the table and registers it, `wrap` makes the environments, `grades` plays them with the linear policies
of `policies/`, which benchmarks/mujoco/behaviour found.
"""

from __future__ import annotations

from rate.envs.mujoco.grades import GRADES
from rate.envs.mujoco.tasks import NAMES, REFERENCES

__all__ = ["GRADES", "NAMES", "REFERENCES"]
