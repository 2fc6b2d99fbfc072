"""What policies are trained to do; importing this package fills the registry."""

from rate.objectives.behaviour_cloning import BehaviourCloning, BehaviourCloningConfig
from rate.objectives.cql import CqlConfig
from rate.objectives.objective import OBJECTIVES, Loss, Objective, ObjectiveConfig

__all__ = [
    "OBJECTIVES",
    "BehaviourCloning",
    "BehaviourCloningConfig",
    "CqlConfig",
    "Loss",
    "Objective",
    "ObjectiveConfig",
]
