"""Every model; importing this package fills the registries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rate.models import presets
from rate.models.config import MODELS, ModelConfig
from rate.models.presets.rate import RateConfig, suggest_config
from rate.registry import CONFIG_CLASSES

if TYPE_CHECKING:
    from rate.models.policy import SequencePolicy, unroll

__all__ = [
    "BUILT_IN",
    "CONFIG_CLASSES",
    "MODELS",
    "ModelConfig",
    "RateConfig",
    "SequencePolicy",
    "presets",
    "suggest_config",
    "unroll",
]

BUILT_IN = tuple(MODELS)
"""The models of the library, without those that plug-ins add."""


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is asked for."""
    if name in __all__:
        from rate.models import policy

        return getattr(policy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
