"""How each number of a report was computed, in words.

The Markdown report and the page print the same text.
"""

from __future__ import annotations

from rate.reports.figures.horizon import CROWD
from rate.reports.reading.curves import MAX_CURVES, MAX_ENVS, MAX_POINTS
from rate.reports.tables.tasks import LEAST

HORIZON_BAND = (
    "One run: band and bars are the Wilson 95 % interval over its episodes (for returns one standard error). "
    "Several runs: the thick line is the mean over runs, band and bars are one standard error over runs, "
    f"each thin line is a run. With more than {CROWD} models, bands and thin lines are left out."
)
HEATMAP = (
    "Each cell is the mean over runs, or over the episodes of the one run. To the left of the dashed line cases are no "
    "longer than what the model was trained on, to the right they are longer. Hatched: not evaluated."
)
RECALL = (
    "A point is one evaluation of one run during training: the mean probability of the demonstrated last action after "
    "the first cue against that after the second, blue at the beginning and red at the end. On the dashed diagonal the "
    "two sum to 1: the cue is forgotten. Above it there is memory. R is Pearson's correlation over training, the mean "
    "over runs; the first 1 % of the optimiser steps is left out."
)
SWEEP = (
    "The score over the values of one setting that is a number, where runs differ in it, or over the strength of an "
    "intervention, where 0 is the plain evaluation. Bars as in the figure of the score by case. Up to twelve panels."
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
        "@ n: trained at n, the length or size of the episodes that it learnt from, else the steps of a window.",
    ),
    ("Figure of the score by case", HORIZON_BAND),
    ("Heat map", HEATMAP),
    ("Sweep", SWEEP),
    (
        "Normalised score",
        "100 (return − low) / (high − low), with the two reference returns that the environment names, as in D4RL and "
        "Minari; mean over episodes ± one standard error.",
    ),
    (
        "By tag, imbalance",
        "The score of all episodes, of all cases, that have the same value of a tag; the imbalance is the best of them "
        "less the worst.",
    ),
    (
        "Acting otherwise",
        "Evaluations under interventions, with another prompt or another target return. They are never pooled with the "
        "plain ones.",
    ),
    (
        "Over tasks",
        "Where several environments were evaluated in one case each, they are tasks. A run is the unit: the mean "
        "return of its episodes. A task has the mean over its runs ± one standard error over runs. Mean, sum and IQM "
        "are taken over the tasks, each of the same weight; the IQM (interquartile mean) is the mean of the middle "
        "half of all runs of all tasks. Intervals hold 95 % of 2,000 bootstrap samples in which runs are drawn anew "
        "within each task: they hold the spread between training seeds, not that between tasks.",
    ),
    (
        "Share of the data's return",
        "The return of a run divided by the mean return of its training data, averaged over runs, then over tasks. "
        f"Only tasks whose data has a mean return above {LEAST} count. 1 is as good as the data; the return of random "
        "actions is not subtracted.",
    ),
    (
        "First observations that training held",
        "Share of the evaluated episodes whose first observation, value for value, was that of a training episode. "
        "Seeds of training and evaluation are apart, contents need not be. Where all episodes begin alike it is 100 % "
        "and says nothing; few training episodes that differ say that evaluation repeats them.",
    ),
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
        "over the cases, at steps at which every case was evaluated. With more than "
        f"{MAX_ENVS} environments there are no curves.",
    ),
)
