"""Every model of the library; importing this package fills the registry."""

from rate.models.policy import CONFIG_CLASSES, MODELS, ModelConfig, SequencePolicy, unroll
from rate.models.rate import RateConfig, suggest_config

__all__ = ["CONFIG_CLASSES", "MODELS", "ModelConfig", "RateConfig", "SequencePolicy", "suggest_config", "unroll"]
