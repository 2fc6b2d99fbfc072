"""How each number of a report was computed, in words.

The Markdown report and the page print the same text.
"""

from __future__ import annotations

from rate.reports.curves import MAX_CURVES, MAX_POINTS
from rate.reports.horizon import CROWD

HORIZON_BAND = (
    "One run: band and bars are the Wilson 95 % interval over its episodes (for returns one standard error). "
    "Several runs: the thick line is the mean over runs, band and bars are one standard error over runs, "
    f"each thin line is a run. With more than {CROWD} models, bands and thin lines are left out."
)
HEATMAP = (
    "Each cell is the mean over runs, or over the episodes of the one run. To the left of the dashed line cases are no "
    "longer than what the model was trained on, to the right they are longer. Hatched: not evaluated."
)
METHODS = (
    (
        "Episodes that count",
        "Of each run and case, the evaluation that was written last. "
        "An episode that was repeated with the same seed counts once.",
    ),
    (
        "Success rate",
        "Successful episodes divided by episodes. The brackets are the Wilson 95 % score interval over the episodes of "
        "all runs of a model together; it does not hold the spread between training seeds.",
    ),
    (
        "Return",
        "Undiscounted sum of rewards, mean over episodes ± one standard error "
        "(standard deviation with n − 1, divided by √n).",
    ),
    (
        "(n runs: mean ± SEM, min)",
        "Mean and standard error of the values of the single runs, and the lowest of them: the spread between training "
        "seeds. Shown for two runs and more.",
    ),
    (
        "Runs of one model",
        "Runs are taken together if their configurations differ in nothing but seeds and what does not change results. "
        "Other configurations of a model are models of their own, named by the fields that differ. "
        "@ n: trained on windows of n steps.",
    ),
    ("Figure of the score by case", HORIZON_BAND),
    ("Heat map", HEATMAP),
    (
        "Training",
        "Optimiser steps that were made, and the wall-clock time of them with validation and checkpoints, over all "
        "resumes; steps that were lost with a killed process are not counted. Several runs: their mean.",
    ),
    (
        "Cost of acting",
        "Milliseconds per step of the batch as the evaluation measured them with the stated batch and threads, "
        "weighted by steps. One step advances all episodes of the batch by one environment step. Acting time is "
        "the wall-clock time of these evaluations.",
    ),
    (
        "Learning curves",
        f"As logged, one line per run; beyond {MAX_POINTS} points, means of consecutive values. With more than "
        f"{MAX_CURVES} runs in a panel, a line is the mean over the runs of a model at the steps that all of them "
        f"logged, beyond {MAX_POINTS // 4} points means of consecutive values. The score during training is the mean "
        "over the cases, at steps at which every case was evaluated.",
    ),
)
