"""Training: the loop, the optimiser, checkpoints, the run directory."""
