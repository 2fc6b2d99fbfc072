"""What policies are trained to do; importing this package fills the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rate.objectives.config import OBJECTIVES, BehaviourCloningConfig, CqlConfig, ObjectiveConfig

if TYPE_CHECKING:
    from rate.objectives.behaviour_cloning import BehaviourCloning
    from rate.objectives.objective import Loss, Objective

__all__ = [
    "OBJECTIVES",
    "BehaviourCloning",
    "BehaviourCloningConfig",
    "CqlConfig",
    "Loss",
    "Objective",
    "ObjectiveConfig",
]


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is asked for."""
    if name in __all__:
        from rate.objectives import behaviour_cloning

        return getattr(behaviour_cloning, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
