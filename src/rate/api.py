"""What `import rate` offers. It is imported when the first of it is asked for, because torch takes seconds."""

from rate.config import EnvConfig, RunConfig
from rate.data import DataConfig, StoreWriter
from rate.envs import ENVS, EnvSpec, EvalCase
from rate.envs.batch import SerialBatch
from rate.envs.simple import simple_env
from rate.errors import RateError
from rate.evaluation.evaluator import EvalConfig
from rate.experiment import Run, load, train_run
from rate.models import MODELS, RateConfig, SequencePolicy, suggest_config
from rate.models.acting import INTERVENTIONS, PROMPTS
from rate.models.actor import Actor
from rate.models.interventions import Intervention, Recorder, intervene
from rate.recipes import RECIPES, recipe
from rate.reports import write_report
from rate.score import Score
from rate.training.config import TrainConfig
from rate.types import Trajectory

__all__ = [
    "ENVS",
    "INTERVENTIONS",
    "MODELS",
    "PROMPTS",
    "RECIPES",
    "Actor",
    "DataConfig",
    "EnvConfig",
    "EnvSpec",
    "EvalCase",
    "EvalConfig",
    "Intervention",
    "RateConfig",
    "RateError",
    "Recorder",
    "Run",
    "RunConfig",
    "Score",
    "SequencePolicy",
    "SerialBatch",
    "StoreWriter",
    "TrainConfig",
    "Trajectory",
    "intervene",
    "load",
    "recipe",
    "simple_env",
    "suggest_config",
    "train_run",
    "write_report",
]
