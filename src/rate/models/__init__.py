"""Every model; importing this package fills the registries."""

from rate.models import dt, lsdt, mamba, mlp, rnn
from rate.models.policy import CONFIG_CLASSES, MODELS, ModelConfig, SequencePolicy, unroll
from rate.models.rate import RateConfig, suggest_config

__all__ = [
    "CONFIG_CLASSES",
    "MODELS",
    "ModelConfig",
    "RateConfig",
    "SequencePolicy",
    "dt",
    "lsdt",
    "mamba",
    "mlp",
    "rnn",
    "suggest_config",
    "unroll",
]
