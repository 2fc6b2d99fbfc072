"""How each number of a report was computed, in words.

The Markdown report and the page print the same text.
"""

from __future__ import annotations

from rate.reports.curves import MAX_POINTS

HORIZON_BAND = (
    "One run: band and bars are the Wilson 95 % interval over its episodes (for returns one standard error). "
    "Several runs: the thick line is the mean over runs, band and bars are one standard error over runs, "
    "each thin line is a run."
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
        "Other configurations of a model are models of their own, named by the fields that differ.",
    ),
    ("Figure of the score by case", HORIZON_BAND),
    (
        "Cost of acting",
        "Milliseconds per step of the batch as the evaluation measured them with the stated batch and threads, "
        "weighted by steps. One step advances all episodes of the batch by one environment step. Total time is the "
        "wall-clock time of these evaluations.",
    ),
    (
        "Learning curves",
        f"As logged, one line per run; beyond {MAX_POINTS} points, means of consecutive values. The score during "
        "training is the mean over the cases, at steps at which every case was evaluated.",
    ),
)
