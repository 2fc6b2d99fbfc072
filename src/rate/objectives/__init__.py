"""What policies are trained to do; importing this package fills the registry."""

from rate.objectives.behaviour_cloning import BehaviourCloning
from rate.objectives.objective import OBJECTIVES, Loss

__all__ = ["OBJECTIVES", "BehaviourCloning", "Loss"]
