"""From a configuration to a trained and evaluated run.

This is the Python face of `rate train` and `rate eval`; the command line only adds bars and lines.
"""

from rate.experiment.collecting import collect_to
from rate.experiment.data import collect_once, data_root, prepare_data
from rate.experiment.many_runs import Outcome, RunState, run_all, run_state
from rate.experiment.run import Run, load
from rate.experiment.train import seed_everything, train_run

__all__ = [
    "Outcome",
    "Run",
    "RunState",
    "collect_once",
    "collect_to",
    "data_root",
    "load",
    "prepare_data",
    "run_all",
    "run_state",
    "seed_everything",
    "train_run",
]
